package format

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"github.com/cleave-project/cleave/internal/data/segment"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// maxPictureFile is the largest supported picture file in bytes. The largest picture takes less even uncompressed.
const maxPictureFile = 64 << 20

// maxPixelsPerByte exceeds what any of the formats can store (a blank PNG with one bit per pixel has 8 x 1032 in a
// byte). A file whose header claims more was truncated or forged.
const maxPixelsPerByte = 10_000

// imageFormat is a picture format, recognized by the first bytes of a file, not by its name.
type imageFormat struct {
	name, magic string
	size        func(io.Reader) (image.Config, error)
	decode      func(io.Reader) (image.Image, error)
}

var imageFormats = []imageFormat{
	{"PNG", "\x89PNG\r\n\x1a\n", png.DecodeConfig, png.Decode},
	{"JPEG", "\xff\xd8", jpeg.DecodeConfig, jpeg.Decode},
	{"GIF", "GIF8", gif.DecodeConfig, gif.Decode},
}

// LoadPicture opens path and reads a PNG, a JPEG or the first frame of a GIF as gray values. Transparent pixels are
// blended with a white background.
func LoadPicture(path string) (*segment.Picture, error) {
	return readInput(Input{Path: path}, scan.Options{AnyFormat: true}, readPicture)
}

func readPicture(s *scan.Source) (*segment.Picture, error) {
	content, err := io.ReadAll(io.LimitReader(s, maxPictureFile+1))
	if err != nil {
		return nil, s.ReadError(err)
	}
	if len(content) > maxPictureFile {
		return nil, s.Invalid("PICTURE_TOO_LARGE", "the file is larger than %d MiB; make the picture smaller first",
			maxPictureFile>>20)
	}
	for _, f := range imageFormats {
		if bytes.HasPrefix(content, []byte(f.magic)) {
			return f.read(s, content)
		}
	}
	return nil, s.Invalid("NOT_A_PICTURE", "the file is not a picture in a supported format; use PNG, JPEG or GIF")
}

// read decodes a picture after checking the size in the header.
func (f imageFormat) read(s *scan.Source, content []byte) (*segment.Picture, error) {
	damaged := func(err error) error {
		return s.Invalid("CORRUPT_FILE", "the %s is damaged, truncated or of an unsupported kind (%v)", f.name, err)
	}
	header, err := f.size(bytes.NewReader(content))
	if err != nil {
		return nil, damaged(err)
	}
	if err := segment.CheckSize(header.Width, header.Height); err != nil {
		return nil, fault.Wrap(err, "%s", s.Name)
	}
	if pixels := header.Width * header.Height; pixels > maxPixelsPerByte*len(content) {
		return nil, s.Invalid("CORRUPT_FILE",
			"the %s is truncated: %d bytes cannot hold the %d x %d pixels that its header claims",
			f.name, len(content), header.Width, header.Height)
	}
	decoded, err := f.decode(bytes.NewReader(content))
	if err != nil {
		return nil, damaged(err)
	}
	return toGray(decoded, header.Width, header.Height), nil
}

// toGray draws an image on a white background; the frame of a GIF may cover only part of it.
func toGray(decoded image.Image, width, height int) *segment.Picture {
	const white = 0xFFFF
	p := &segment.Picture{Width: width, Height: height, Gray: make([]uint16, width*height)}
	frame := decoded.Bounds()
	for i := range p.Gray {
		at := image.Pt(i%width, i/width)
		if !at.In(frame) {
			p.Gray[i] = white
			continue
		}
		pixel := decoded.At(at.X, at.Y)
		gray, _ := color.Gray16Model.Convert(pixel).(color.Gray16)
		_, _, _, alpha := pixel.RGBA() // RGBA returns alpha-premultiplied colors
		p.Gray[i] = uint16(min(uint32(gray.Y)+white-alpha, white))
	}
	return p
}

// WritePicture writes gray values as an 8-bit PNG.
func WritePicture(w io.Writer, p *segment.Picture) error {
	gray := image.NewGray(image.Rect(0, 0, p.Width, p.Height))
	for i, v := range p.Gray {
		gray.Pix[i] = uint8(v >> 8)
	}
	return png.Encode(w, gray)
}
