package columnar

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

var errSize = errors.New("the decompressed size is not the declared one")

// The Snappy and Zstandard decoders of the library allocate the decompressed size that a block claims. The replacements
// below decompress only into the memory that they are given. The library takes codecs only from its global registry.
func init() {
	compress.RegisterCodec(compress.Codecs.Snappy, bounded{mustCodec(compress.Codecs.Snappy), unpackSnappy})
	compress.RegisterCodec(compress.Codecs.Zstd, bounded{mustCodec(compress.Codecs.Zstd), unpackZstd})
}

func mustCodec(kind compress.Compression) compress.Codec {
	codec, err := compress.GetCodec(kind)
	if err != nil {
		panic(err)
	}
	return codec
}

// bounded is a codec of the library with a decoder that fails unless a block fills its destination exactly.
type bounded struct {
	compress.Codec
	unpack func(into, block []byte) error
}

// DecodeWithError decompresses a block, which must fill dst.
func (b bounded) DecodeWithError(dst, src []byte) ([]byte, error) { return dst, b.unpack(dst, src) }

func unpackSnappy(into, block []byte) error {
	if size, err := snappy.DecodedLen(block); err != nil || size != len(into) {
		return errors.Join(err, errSize)
	}
	_, err := snappy.Decode(into, block)
	return err
}

var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	threads := min(runtime.GOMAXPROCS(0), 8)
	return zstd.NewReader(nil, zstd.WithDecoderConcurrency(threads), zstd.WithDecodeAllCapLimit(true),
		zstd.WithDecoderLowmem(true))
})

// unpackZstd decompresses a block, which must fill into exactly.
func unpackZstd(into, block []byte) error {
	decoder, err := zstdDecoder()
	if err != nil {
		return err
	}
	out, err := decoder.DecodeAll(block, into[:0:len(into)])
	if err == nil && len(out) != len(into) {
		err = errSize
	}
	return err
}

// unpackFrame decompresses an LZ4 frame, the form that Arrow uses.
func unpackFrame(into, block []byte) error {
	r := lz4.NewReader(bytes.NewReader(block))
	if _, err := io.ReadFull(r, into); err != nil {
		return err
	}
	var more [1]byte
	if n, err := r.Read(more[:]); n > 0 || err != nil && !errors.Is(err, io.EOF) {
		return errors.Join(err, errSize)
	}
	return nil
}
