package format

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/data/segment"
	"github.com/cleave-project/cleave/internal/fault"
)

// painted has one pixel of each kind: black, gray, white, transparent, red, half transparent black.
func painted() *image.NRGBA {
	m := image.NewNRGBA(image.Rect(0, 0, 3, 2))
	for i, c := range []color.NRGBA{{0, 0, 0, 255}, {100, 100, 100, 255}, {255, 255, 255, 255}, {9, 9, 9, 0},
		{255, 0, 0, 255}, {0, 0, 0, 128}} {
		m.SetNRGBA(i%3, i/3, c)
	}
	return m
}

func pngOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// gifOf is a GIF with one frame, which may be smaller than the picture.
func gifOf(t testing.TB, width, height int, frame *image.Paletted) []byte {
	t.Helper()
	var b bytes.Buffer
	err := gif.EncodeAll(&b, &gif.GIF{
		Image: []*image.Paletted{frame}, Delay: []int{0},
		Config: image.Config{Width: width, Height: height, ColorModel: frame.Palette},
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func blackFrame(at image.Rectangle) *image.Paletted {
	return image.NewPaletted(at, color.Palette{color.Black, color.White})
}

func TestReadPicture(t *testing.T) {
	deep := image.NewGray16(image.Rect(0, 0, 2, 1))
	deep.SetGray16(1, 0, color.Gray16{Y: 12345})
	plain := image.NewGray(image.Rect(0, 0, 2, 2))
	plain.Pix = []uint8{0, 80, 160, 255}
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	if _, err := zip.Write(pngOf(t, plain)); err != nil || zip.Close() != nil {
		t.Fatal(err)
	}
	const white = 0xFFFF
	for _, c := range []struct {
		name    string
		content []byte
		width   int
		gray    []uint16
	}{
		{"color.png", pngOf(t, painted()), 3, []uint16{0, 100 * 257, white, white, 19595, 127 * 257}},
		{"deep.png", pngOf(t, deep), 2, []uint16{0, 12345}},
		{"plain.png", pngOf(t, plain), 2, []uint16{0, 80 * 257, 160 * 257, white}},
		{"zipped.png.gz", zipped.Bytes(), 2, []uint16{0, 80 * 257, 160 * 257, white}},
		{"a png that is called.jpg", pngOf(t, deep), 2, []uint16{0, 12345}},
		{"frame.gif", gifOf(t, 3, 2, blackFrame(image.Rect(1, 1, 3, 2))), 3,
			[]uint16{white, white, white, white, 0, 0}},
	} {
		p, err := ReadPicture(bytes.NewReader(c.content), c.name)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if p.Width != c.width || p.Pixels() != len(c.gray) || !slices.Equal(p.Gray, c.gray) {
			t.Errorf("%s: %d x %d, %v; want %v", c.name, p.Width, p.Height, p.Gray, c.gray)
		}
	}
	// JPEG loses a little.
	flat := image.NewGray(image.Rect(0, 0, 20, 10))
	for i := range flat.Pix {
		flat.Pix[i] = 77
	}
	p, err := ReadPicture(bytes.NewReader(jpegOf(t, flat)), "flat.jpeg")
	if err != nil || p.Width != 20 || p.Height != 10 {
		t.Fatalf("%v, %v", p, err)
	}
	for _, gray := range p.Gray {
		if level := int(gray >> 8); level < 76 || level > 78 {
			t.Fatalf("77 became %d", level)
		}
	}
}

func TestPictureRoundTrip(t *testing.T) {
	p := &segment.Picture{Width: 4, Height: 64, Gray: make([]uint16, 256)}
	for i := range p.Gray {
		p.Gray[i] = uint16(i) * 257
	}
	var b bytes.Buffer
	if err := WritePicture(&b, p); err != nil {
		t.Fatal(err)
	}
	again, err := ReadPicture(&b, "again.png")
	if err != nil || again.Width != 4 || !slices.Equal(again.Gray, p.Gray) {
		t.Errorf("%v, %v", again, err)
	}
}

// pngClaiming is a PNG of four pixels whose header claims another size.
func pngClaiming(t testing.TB, width, height uint32) []byte {
	content := bytes.Clone(pngOf(t, image.NewGray(image.Rect(0, 0, 2, 2))))
	header := content[12:29] // the chunk's type and its 13 bytes, then their checksum
	binary.BigEndian.PutUint32(header[4:], width)
	binary.BigEndian.PutUint32(header[8:], height)
	binary.BigEndian.PutUint32(content[29:], crc32.ChecksumIEEE(header))
	return content
}

func TestInvalidPictures(t *testing.T) {
	whole := pngOf(t, painted())
	broken := bytes.Clone(whole)
	broken[len(broken)-20] ^= 0xFF
	for _, c := range []struct {
		name    string
		content []byte
		reason  string
		says    string
	}{
		{"text.png", []byte("index,label\n0,1\n"), "NOT_A_PICTURE", "use PNG, JPEG or GIF"},
		{"empty.png", nil, "NOT_A_PICTURE", "use PNG"},
		{"cut.png", whole[:len(whole)/2], "CORRUPT_FILE", "PNG is damaged"},
		{"header.png", whole[:20], "CORRUPT_FILE", "PNG is damaged"},
		{"broken.png", broken, "CORRUPT_FILE", "PNG is damaged"},
		{"cut.jpg", jpegOf(t, painted())[:300], "CORRUPT_FILE", "JPEG is damaged"},
		{"cut.gif", gifOf(t, 4, 4, blackFrame(image.Rect(0, 0, 4, 4)))[:20], "CORRUPT_FILE", "GIF is damaged"},
		{"huge.png", pngClaiming(t, 100_000, 100_000), "PICTURE_TOO_LARGE", "100000 x 100000"},
		{"large.png", pngClaiming(t, 4097, 1024), "PICTURE_TOO_LARGE", "at most 4194304"},
		{"claim.png", pngClaiming(t, 2048, 2048), "CORRUPT_FILE", "cannot hold the 2048 x 2048"},
		{"cut.png.gz", []byte(gzipped(string(whole))[:len(whole)/2]), "CORRUPT_FILE", "damaged"},
	} {
		var err error
		bytes := allocated(func() { _, err = ReadPicture(bytes.NewReader(c.content), c.name) })
		if !fault.Is(err, c.reason) || !strings.Contains(err.Error(), c.says) ||
			!strings.HasPrefix(err.Error(), c.name) {
			t.Errorf("%s: %v, want %s with %q", c.name, err, c.reason, c.says)
		}
		if bytes > 4<<20 {
			t.Errorf("%s: allocated %d bytes", c.name, bytes)
		}
	}
	if _, err := LoadPicture("not/there.png"); !fault.Is(err, "FILE_NOT_READABLE") {
		t.Errorf("a missing file: %v", err)
	}
}

// A damaged picture is either read or refused with a fault.
func FuzzPicture(f *testing.F) {
	for _, m := range []image.Image{painted(), image.NewGray16(image.Rect(0, 0, 9, 5)),
		blackFrame(image.Rect(0, 0, 5, 5))} {
		f.Add(pngOf(f, m))
		f.Add(jpegOf(f, m))
	}
	f.Add(gifOf(f, 6, 6, blackFrame(image.Rect(1, 2, 4, 5))))
	f.Add(pngClaiming(f, 2048, 2048))
	f.Add(pngClaiming(f, 700, 700))
	f.Add([]byte("text"))
	f.Fuzz(func(t *testing.T, input []byte) {
		p, err := ReadPicture(bytes.NewReader(input), "f.png")
		var bad *fault.Error
		if err != nil {
			if !errors.As(err, &bad) || bad.Kind != fault.InvalidArgument ||
				!strings.HasPrefix(bad.Message, "f.png: ") {
				t.Fatalf("not a proper fault: %v", err)
			}
			return
		}
		if segment.CheckSize(p.Width, p.Height) != nil || len(p.Gray) != p.Pixels() {
			t.Fatalf("%d values for %d x %d", len(p.Gray), p.Width, p.Height)
		}
	})
}

func TestBoxes(t *testing.T) {
	boxes, err := ReadBoxes(strings.NewReader("label,x,y,width,height\n-1,0,0,2,3\n7,4,2,1,1\n"), "b.csv", 5, 3)
	want := []segment.Box{{X: 0, Y: 0, Width: 2, Height: 3, Label: -1}, {X: 4, Y: 2, Width: 1, Height: 1, Label: 7}}
	if err != nil || !slices.Equal(boxes, want) {
		t.Fatalf("%v, %v", boxes, err)
	}
	var b bytes.Buffer
	if err := WriteBoxes(&b, boxes); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != "x,y,width,height,label\n0,0,2,3,-1\n4,2,1,1,7\n" {
		t.Errorf("written as %q", got)
	}
	for text, says := range map[string]string{
		"x,y,width,height,label\n0,0,2,3,1\n4,2,2,1,7\n": "b.csv, line 3: the box of 2 x 1 pixels at (4, 2) " +
			"is not inside",
		"x,y,width,height,label\n0,0,0,3,1\n": "b.csv, line 2: the box is 0 x 3",
		"x,y,width,height,label\n0,a,1,1,1\n": `"a" in column "y" is not an integer`,
		"x,y,width,height\n":                  `no column "label"`,
		"0,0,1,1,1\n":                         "x,y,width,height,label",
	} {
		if _, err := ReadBoxes(strings.NewReader(text), "b.csv", 5, 3); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
}

func FuzzBoxes(f *testing.F) {
	f.Add([]byte("x,y,width,height,label\n0,0,2,3,1\n"))
	f.Add([]byte("label,x,y,width,height\n-1,1e3,9223372036854775807,2,3\n"))
	f.Fuzz(func(t *testing.T, input []byte) {
		var boxes []segment.Box
		read := func() (err error) {
			boxes, err = ReadBoxes(bytes.NewReader(input), "f.csv", 6, 4)
			return err
		}
		if !checkFuzzed(t, len(input), 0, read) {
			return
		}
		if _, err := segment.Label(6, 4, boxes); err != nil && !fault.Is(err, "CONTRADICTORY_BOXES") {
			t.Fatalf("what was read is not accepted: %v", err)
		}
	})
}
