package scan

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/text"
)

// sameFormats maps suffixes to the ones used for the same format here.
var sameFormats = map[string]string{
	".feather": ".arrow", ".ipc": ".arrow", ".arrows": ".arrow", ".pq": ".parquet", ".parq": ".parquet",
}

// The first bytes of files that identify their format.
const (
	ParquetMagic      = "PAR1"
	ArrowMagic        = "ARROW1"
	ArrowContinuation = "\xFF\xFF\xFF\xFF" // starts an Arrow stream
	zipMagic          = "PK\x03\x04"
	NPYMagic          = "\x93NUMPY"
)

// The suffixes of NumPy arrays and archives of them.
const (
	NPYSuffix = ".npy"
	NPZSuffix = ".npz"
)

// detect returns the suffix of the format that the first bytes identify beyond doubt, whatever the name of the file,
// otherwise "".
func (s *Source) detect() string {
	start, _ := s.Peek(256) // a read error shows up again when the input is read
	return detectBytes(start)
}

// detectBytes is detect for the first bytes of a file.
func detectBytes(start []byte) string {
	for _, known := range []struct{ magic, suffix string }{
		{ParquetMagic, ".parquet"}, {ArrowMagic, ".arrow"}, {ArrowContinuation, ".arrow"}, {"FEA1", ".arrow"},
		{NPYMagic, ".npy"}, {zipMagic, ".npz"},
	} {
		if bytes.HasPrefix(start, []byte(known.magic)) {
			return known.suffix
		}
	}
	text := strings.ToLower(string(bytes.TrimSpace(bytes.TrimPrefix(start, []byte("\xEF\xBB\xBF")))))
	switch {
	case strings.HasPrefix(text, "%%matrixmarket"):
		return ".mtx"
	case strings.HasPrefix(text, "<?xml"), strings.HasPrefix(text, "<graphml"):
		return ".graphml"
	}
	return ""
}

// foreign lists well-known formats that are not supported, by first bytes and suffixes, with advice for each.
var foreign = []struct {
	what, begins string
	suffixes     []string
	help         string
}{
	{"an Excel workbook", "", []string{".xlsx", ".xlsm", ".xlsb"}, saveAsCSV},
	{"an old Excel workbook", "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", []string{".xls"}, saveAsCSV},
	{"a LibreOffice spreadsheet", "", []string{".ods", ".fods"}, saveAsCSV},
	{"JSON", "", []string{".json", ".jsonl", ".ndjson"}, jsonToTable},
	{"JSON", "{\"", nil, jsonToTable},
	{"JSON", "[{", nil, jsonToTable},
	{"a PDF document", "%PDF-", []string{".pdf"}, "export the table as CSV from its source"},
	{"a web page", "<!doctype html", []string{".html", ".htm"},
		"if it was downloaded, the download may have failed: look at it, and export the table as CSV"},
	{"a web page", "<html", nil, "if it was downloaded, the download may have failed: look at it, and export the " +
		"table as CSV"},
	{"a picture", "\x89PNG\r\n", []string{".png"}, "cleave generate image-affinity makes a graph of its pixels"},
	{"a picture", "\xFF\xD8\xFF", []string{".jpg", ".jpeg"},
		"cleave generate image-affinity makes a graph of its pixels"},
	{"a picture", "GIF8", []string{".gif"}, "cleave generate image-affinity makes a graph of its pixels"},
	{"an SQLite database", "SQLite format 3\x00", []string{".sqlite", ".sqlite3", ".db"},
		"export a table with sqlite3 -header -csv FILE 'select * from TABLE', and save it or pipe it to --data -"},
	{"a Python pickle", "\x80\x04\x95", []string{".pkl", ".pickle"}, unpickle},
	{"a Python pickle", "\x80\x05\x95", nil, unpickle},
	{"a MATLAB file", "MATLAB 5.0 MAT-file", []string{".mat"}, "export a matrix with writematrix(X, 'data.csv')"},
	{"an HDF5 file", "\x89HDF\r\n", []string{".h5", ".hdf5", ".hdf"},
		"save its array with numpy.save, or its table as CSV or Parquet"},
	{"an R data file", "", []string{".rds", ".rda", ".rdata"}, "export a data frame with write.csv(x, 'data.csv')"},
	{"a Stata, SPSS or SAS file", "", []string{".dta", ".sav", ".sas7bdat"}, "export it as CSV"},
	{"an ARFF file", "@relation", []string{".arff"}, "save it as CSV"},
	{"a tar archive", "", []string{".tar", ".tgz"}, unpackFirst},
	{"a 7z archive", "7z\xBC\xAF\x27\x1C", []string{".7z"}, unpackFirst},
	{"a RAR archive", "Rar!\x1A\x07", []string{".rar"}, unpackFirst},
	{"an LZ4 file", "\x04\x22\x4D\x18", []string{".lz4"}, unpackFirst},
	{"a file that is compressed twice", gzipMagic, nil, unpackFirst},
}

const (
	saveAsCSV   = "open it and save the sheet as CSV (File, Save As), with any delimiter"
	unpackFirst = "unpack it first"
	unpickle    = "save arrays with numpy.save, data frames with to_parquet or to_csv"
	jsonToTable = `convert it to CSV or Parquet, for example with duckdb -c "copy (from 'FILE') to 'data.parquet'"`
)

// checkForeign returns an error with advice for well-known formats that are not supported.
func (s *Source) checkForeign() error {
	const tarAt, tarMagic = 257, "ustar" // the only format whose first bytes are a name
	start, _ := s.Peek(tarAt + len(tarMagic))
	lower := bytes.ToLower(bytes.TrimSpace(bytes.TrimPrefix(start, []byte("\xEF\xBB\xBF"))))
	suffix := strings.ToLower(filepath.Ext(s.Name))
	if bytes.HasPrefix(start[min(len(start), tarAt):], []byte(tarMagic)) {
		suffix = ".tar"
	}
	for _, f := range foreign {
		begins := f.begins != "" &&
			(bytes.HasPrefix(start, []byte(f.begins)) || bytes.HasPrefix(lower, []byte(f.begins)))
		if begins || slices.Contains(f.suffixes, suffix) || slices.Contains(f.suffixes, s.Suffix) {
			return s.Invalid("UNKNOWN_FORMAT", "this is %s, which Cleave does not read; %s", f.what, f.help)
		}
	}
	return nil
}

// ForeignArchive returns an error that says what a ZIP archive without arrays is.
func (s *Source) ForeignArchive(files []string) error {
	has := func(name string) bool { return slices.Contains(files, name) }
	switch {
	case has("xl/workbook.xml"), has("[Content_Types].xml"):
		return s.Invalid("UNKNOWN_FORMAT", "this is an Excel workbook, which Cleave does not read; %s", saveAsCSV)
	case has("mimetype") && has("content.xml"):
		return s.Invalid("UNKNOWN_FORMAT", "this is a LibreOffice spreadsheet, which Cleave does not read; %s",
			saveAsCSV)
	}
	if len(files) == 0 {
		return s.Invalid("NOT_NPZ", "this is an empty ZIP archive; write arrays with numpy.savez")
	}
	return s.Invalid("NOT_NPZ", "this is a ZIP archive without NumPy arrays; %s (it contains %s)", unpackFirst,
		text.First(files, 5))
}
