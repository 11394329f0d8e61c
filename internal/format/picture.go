package format

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/segment"
)

// maxPictureFile bounds a picture's file: more than the largest picture takes without compression.
const maxPictureFile = 64 << 20

// mostPixelsPerByte is more than any of the formats gets into a byte (a blank PNG of one bit per pixel
// has 8 x 1032). A header that claims more is of a file that was cut short, or lies.
const mostPixelsPerByte = 10_000

// imageFormat is one way to keep a picture, told by its first bytes, whatever the file is called.
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

// ReadPicture reads a PNG, a JPEG or the first frame of a GIF as gray values. What is transparent
// lies on white.
func ReadPicture(r io.Reader, name string) (*segment.Picture, error) {
	s, err := newSource(r, name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(s, maxPictureFile+1))
	if err != nil {
		return nil, s.readError(err)
	}
	if len(content) > maxPictureFile {
		return nil, s.invalid("PICTURE_TOO_LARGE", "the file is larger than %d MiB; make the picture smaller first", maxPictureFile>>20)
	}
	for _, f := range imageFormats {
		if bytes.HasPrefix(content, []byte(f.magic)) {
			return f.read(s, content)
		}
	}
	return nil, s.invalid("NOT_A_PICTURE", "this is no picture in a format known here; use PNG, JPEG or GIF")
}

// LoadPicture is ReadPicture of a path.
func LoadPicture(path string) (*segment.Picture, error) { return load(path, ReadPicture) }

// read decodes a picture once its header was found to be within bounds.
func (f imageFormat) read(s *source, content []byte) (*segment.Picture, error) {
	damaged := func(err error) error {
		return s.invalid("CORRUPT_FILE", "the %s is damaged, cut short or of a kind not known here (%v)", f.name, err)
	}
	header, err := f.size(bytes.NewReader(content))
	if err != nil {
		return nil, damaged(err)
	}
	if err := segment.CheckSize(header.Width, header.Height); err != nil {
		return nil, fault.Wrap(err, "%s", s.name)
	}
	if pixels := header.Width * header.Height; pixels > mostPixelsPerByte*len(content) {
		return nil, s.invalid("CORRUPT_FILE", "the %s is cut short: %d bytes cannot hold the %d x %d pixels that its header claims",
			f.name, len(content), header.Width, header.Height)
	}
	decoded, err := f.decode(bytes.NewReader(content))
	if err != nil {
		return nil, damaged(err)
	}
	return grayOf(decoded, header.Width, header.Height), nil
}

// grayOf lays an image on white paper; the frame of a GIF may cover only a part of it.
func grayOf(decoded image.Image, width, height int) *segment.Picture {
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
		_, _, _, opaque := pixel.RGBA() // colors come multiplied by it
		p.Gray[i] = uint16(min(uint32(gray.Y)+white-opaque, white))
	}
	return p
}

// WritePicture writes gray values as a PNG of 8 bits.
func WritePicture(w io.Writer, p *segment.Picture) error {
	gray := image.NewGray(image.Rect(0, 0, p.Width, p.Height))
	for i, v := range p.Gray {
		gray.Pix[i] = uint8(v >> 8)
	}
	return png.Encode(w, gray)
}
