// Package images reads images in the OCI image layout, as make image writes them.
package images

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Image is the image of one platform.
type Image struct {
	Digest       string
	Architecture string
	Config       Config
	Files        map[string]File
	Compressed   int64 // bytes of the configuration and the layers, as a registry stores them
}

// Config is what a container runtime does with an image.
type Config struct {
	User       string
	Env        []string
	Entrypoint []string
	Labels     map[string]string
}

// File is a file or folder of an image, without its leading slash.
type File struct {
	tar.Header
	Content []byte
}

type descriptor struct {
	Digest string
	Size   int64
}

// Read reads the images of a layout, one for each platform.
func Read(dir string) ([]Image, error) {
	var top, index struct{ Manifests []descriptor }
	if err := readJSON(filepath.Join(dir, "index.json"), &top); err != nil {
		return nil, err
	}
	if len(top.Manifests) != 1 {
		return nil, fmt.Errorf("%s has %d entries, want one index", dir, len(top.Manifests))
	}
	if err := readJSON(blob(dir, top.Manifests[0].Digest), &index); err != nil {
		return nil, err
	}
	var found []Image
	for _, m := range index.Manifests {
		image, err := readImage(dir, m.Digest)
		if err != nil {
			return nil, err
		}
		found = append(found, image)
	}
	return found, nil
}

func readImage(dir, digest string) (Image, error) {
	var manifest struct {
		Config descriptor
		Layers []descriptor
	}
	if err := readJSON(blob(dir, digest), &manifest); err != nil {
		return Image{}, err
	}
	var config struct {
		Architecture string
		Config       Config
	}
	if err := readJSON(blob(dir, manifest.Config.Digest), &config); err != nil {
		return Image{}, err
	}
	image := Image{digest, config.Architecture, config.Config, map[string]File{}, manifest.Config.Size}
	for _, layer := range manifest.Layers {
		image.Compressed += layer.Size
		if err := image.readLayer(blob(dir, layer.Digest)); err != nil {
			return Image{}, err
		}
	}
	return image, nil
}

func (i *Image) readLayer(path string) error {
	compressed, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	raw, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return err
	}
	files := tar.NewReader(raw)
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		content, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		i.Files[strings.Trim(header.Name, "/")] = File{*header, content}
	}
}

func blob(dir, digest string) string {
	return filepath.Join(dir, "blobs", "sha256", strings.TrimPrefix(digest, "sha256:"))
}

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}
