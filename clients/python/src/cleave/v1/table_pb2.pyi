from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

COLUMN_TYPE_INTEGER: ColumnType
COLUMN_TYPE_NUMBER: ColumnType
COLUMN_TYPE_TEXT: ColumnType
COLUMN_TYPE_UNSPECIFIED: ColumnType
DESCRIPTOR: _descriptor.FileDescriptor

class Column(_message.Message):
    __slots__ = ["empty_rows", "integers", "name", "numbers", "texts"]
    EMPTY_ROWS_FIELD_NUMBER: _ClassVar[int]
    INTEGERS_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    NUMBERS_FIELD_NUMBER: _ClassVar[int]
    TEXTS_FIELD_NUMBER: _ClassVar[int]
    empty_rows: _containers.RepeatedScalarFieldContainer[int]
    integers: IntegerCells
    name: str
    numbers: NumberCells
    texts: TextCells
    def __init__(self, name: _Optional[str] = ..., integers: _Optional[_Union[IntegerCells, _Mapping]] = ..., numbers: _Optional[_Union[NumberCells, _Mapping]] = ..., texts: _Optional[_Union[TextCells, _Mapping]] = ..., empty_rows: _Optional[_Iterable[int]] = ...) -> None: ...

class CreateTableRequest(_message.Message):
    __slots__ = ["header", "rows"]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    header: TableHeader
    rows: TableRows
    def __init__(self, header: _Optional[_Union[TableHeader, _Mapping]] = ..., rows: _Optional[_Union[TableRows, _Mapping]] = ...) -> None: ...

class CreateTableResponse(_message.Message):
    __slots__ = ["decimals", "notices", "table"]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    decimals: str
    notices: _containers.RepeatedScalarFieldContainer[str]
    table: Table
    def __init__(self, table: _Optional[_Union[Table, _Mapping]] = ..., notices: _Optional[_Iterable[str]] = ..., decimals: _Optional[str] = ...) -> None: ...

class DeleteTableRequest(_message.Message):
    __slots__ = ["table_id"]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    table_id: str
    def __init__(self, table_id: _Optional[str] = ...) -> None: ...

class DeleteTableResponse(_message.Message):
    __slots__ = []
    def __init__(self) -> None: ...

class GetTableRequest(_message.Message):
    __slots__ = ["table_id"]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    table_id: str
    def __init__(self, table_id: _Optional[str] = ...) -> None: ...

class GetTableResponse(_message.Message):
    __slots__ = ["table"]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    table: Table
    def __init__(self, table: _Optional[_Union[Table, _Mapping]] = ...) -> None: ...

class GetTableRowsRequest(_message.Message):
    __slots__ = ["columns", "max_rows", "table_id"]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    MAX_ROWS_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedScalarFieldContainer[str]
    max_rows: int
    table_id: str
    def __init__(self, table_id: _Optional[str] = ..., max_rows: _Optional[int] = ..., columns: _Optional[_Iterable[str]] = ...) -> None: ...

class GetTableRowsResponse(_message.Message):
    __slots__ = ["rows"]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    rows: TableRows
    def __init__(self, rows: _Optional[_Union[TableRows, _Mapping]] = ...) -> None: ...

class ImportProgress(_message.Message):
    __slots__ = ["bytes", "objects", "objects_read", "rows", "workers"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_FIELD_NUMBER: _ClassVar[int]
    OBJECTS_READ_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    objects: int
    objects_read: int
    rows: int
    workers: int
    def __init__(self, objects: _Optional[int] = ..., objects_read: _Optional[int] = ..., bytes: _Optional[int] = ..., rows: _Optional[int] = ..., workers: _Optional[int] = ...) -> None: ...

class ImportTableRequest(_message.Message):
    __slots__ = ["display_name", "reading", "request_id", "uris"]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    READING_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    URIS_FIELD_NUMBER: _ClassVar[int]
    display_name: str
    reading: TableReading
    request_id: str
    uris: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, uris: _Optional[_Iterable[str]] = ..., display_name: _Optional[str] = ..., request_id: _Optional[str] = ..., reading: _Optional[_Union[TableReading, _Mapping]] = ...) -> None: ...

class ImportTableResponse(_message.Message):
    __slots__ = ["imported", "progress"]
    IMPORTED_FIELD_NUMBER: _ClassVar[int]
    PROGRESS_FIELD_NUMBER: _ClassVar[int]
    imported: ImportedTable
    progress: ImportProgress
    def __init__(self, progress: _Optional[_Union[ImportProgress, _Mapping]] = ..., imported: _Optional[_Union[ImportedTable, _Mapping]] = ...) -> None: ...

class ImportedTable(_message.Message):
    __slots__ = ["decimals", "notices", "table"]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    NOTICES_FIELD_NUMBER: _ClassVar[int]
    TABLE_FIELD_NUMBER: _ClassVar[int]
    decimals: str
    notices: _containers.RepeatedScalarFieldContainer[str]
    table: Table
    def __init__(self, table: _Optional[_Union[Table, _Mapping]] = ..., notices: _Optional[_Iterable[str]] = ..., decimals: _Optional[str] = ...) -> None: ...

class IntegerCells(_message.Message):
    __slots__ = ["values"]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, values: _Optional[_Iterable[int]] = ...) -> None: ...

class ListTablesRequest(_message.Message):
    __slots__ = ["page_size", "page_token"]
    PAGE_SIZE_FIELD_NUMBER: _ClassVar[int]
    PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    page_size: int
    page_token: str
    def __init__(self, page_size: _Optional[int] = ..., page_token: _Optional[str] = ...) -> None: ...

class ListTablesResponse(_message.Message):
    __slots__ = ["next_page_token", "tables"]
    NEXT_PAGE_TOKEN_FIELD_NUMBER: _ClassVar[int]
    TABLES_FIELD_NUMBER: _ClassVar[int]
    next_page_token: str
    tables: _containers.RepeatedCompositeFieldContainer[Table]
    def __init__(self, tables: _Optional[_Iterable[_Union[Table, _Mapping]]] = ..., next_page_token: _Optional[str] = ...) -> None: ...

class NumberCells(_message.Message):
    __slots__ = ["values"]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[float]
    def __init__(self, values: _Optional[_Iterable[float]] = ...) -> None: ...

class SourceObject(_message.Message):
    __slots__ = ["bytes", "etag", "modify_time", "uri", "version"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    ETAG_FIELD_NUMBER: _ClassVar[int]
    MODIFY_TIME_FIELD_NUMBER: _ClassVar[int]
    URI_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    etag: str
    modify_time: _timestamp_pb2.Timestamp
    uri: str
    version: str
    def __init__(self, uri: _Optional[str] = ..., bytes: _Optional[int] = ..., etag: _Optional[str] = ..., version: _Optional[str] = ..., modify_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class Table(_message.Message):
    __slots__ = ["bytes", "columns", "create_time", "display_name", "rows", "sources", "table_id"]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    CREATE_TIME_FIELD_NUMBER: _ClassVar[int]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SOURCES_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    bytes: int
    columns: _containers.RepeatedCompositeFieldContainer[TableColumn]
    create_time: _timestamp_pb2.Timestamp
    display_name: str
    rows: int
    sources: _containers.RepeatedCompositeFieldContainer[SourceObject]
    table_id: str
    def __init__(self, table_id: _Optional[str] = ..., display_name: _Optional[str] = ..., columns: _Optional[_Iterable[_Union[TableColumn, _Mapping]]] = ..., rows: _Optional[int] = ..., bytes: _Optional[int] = ..., create_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., sources: _Optional[_Iterable[_Union[SourceObject, _Mapping]]] = ...) -> None: ...

class TableColumn(_message.Message):
    __slots__ = ["name", "type"]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    name: str
    type: ColumnType
    def __init__(self, name: _Optional[str] = ..., type: _Optional[_Union[ColumnType, str]] = ...) -> None: ...

class TableHeader(_message.Message):
    __slots__ = ["display_name", "first_part", "upload_id"]
    DISPLAY_NAME_FIELD_NUMBER: _ClassVar[int]
    FIRST_PART_FIELD_NUMBER: _ClassVar[int]
    UPLOAD_ID_FIELD_NUMBER: _ClassVar[int]
    display_name: str
    first_part: int
    upload_id: str
    def __init__(self, display_name: _Optional[str] = ..., upload_id: _Optional[str] = ..., first_part: _Optional[int] = ...) -> None: ...

class TableInput(_message.Message):
    __slots__ = ["inline", "table_id"]
    INLINE_FIELD_NUMBER: _ClassVar[int]
    TABLE_ID_FIELD_NUMBER: _ClassVar[int]
    inline: TableRows
    table_id: str
    def __init__(self, table_id: _Optional[str] = ..., inline: _Optional[_Union[TableRows, _Mapping]] = ...) -> None: ...

class TableReading(_message.Message):
    __slots__ = ["decimals", "delimiter", "format", "header", "needed_columns", "text_columns", "unneeded_columns"]
    DECIMALS_FIELD_NUMBER: _ClassVar[int]
    DELIMITER_FIELD_NUMBER: _ClassVar[int]
    FORMAT_FIELD_NUMBER: _ClassVar[int]
    HEADER_FIELD_NUMBER: _ClassVar[int]
    NEEDED_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    TEXT_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    UNNEEDED_COLUMNS_FIELD_NUMBER: _ClassVar[int]
    decimals: str
    delimiter: str
    format: str
    header: bool
    needed_columns: _containers.RepeatedScalarFieldContainer[str]
    text_columns: _containers.RepeatedScalarFieldContainer[str]
    unneeded_columns: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, format: _Optional[str] = ..., delimiter: _Optional[str] = ..., header: bool = ..., decimals: _Optional[str] = ..., text_columns: _Optional[_Iterable[str]] = ..., unneeded_columns: _Optional[_Iterable[str]] = ..., needed_columns: _Optional[_Iterable[str]] = ...) -> None: ...

class TableRows(_message.Message):
    __slots__ = ["columns"]
    COLUMNS_FIELD_NUMBER: _ClassVar[int]
    columns: _containers.RepeatedCompositeFieldContainer[Column]
    def __init__(self, columns: _Optional[_Iterable[_Union[Column, _Mapping]]] = ...) -> None: ...

class TextCells(_message.Message):
    __slots__ = ["values"]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    values: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, values: _Optional[_Iterable[str]] = ...) -> None: ...

class ColumnType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = []
