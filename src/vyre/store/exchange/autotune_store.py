"""The Rust crate's autotune store: a record per variant and adapter.

Schema 1 is the crate's. Schema 2 adds what its records leave out: the whole schedule, the workload
it was chosen for, where it comes from, and what each writer measured. The record of a kernel that
Vyre did not write has a table of knobs in place of the fields of a schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from vyre.errors import InvalidInput, StoreFailed
from vyre.store.exchange.record_text import read_records, write_records
from vyre.store.exchange.text import MOST_BYTES
from vyre.store.files import exclusive, read_text, replace_text
from vyre.store.keys import AutotuneKey
from vyre.store.records import AutotuneRecord

Records = dict[AutotuneKey, AutotuneRecord]


class AutotuneStore:
    """Records by key, in the crate's file format.

    Saving applies what was put and forgotten here to what the file holds by then, so that two
    processes lose nothing of each other's. A file that cannot be read is never replaced.
    """

    def __init__(self, records: Mapping[AutotuneKey, AutotuneRecord] | None = None) -> None:
        self._records: Records = {}
        self._changes: dict[AutotuneKey, AutotuneRecord | None] = {}
        for key, record in (records or {}).items():
            self.put(key, record)

    @classmethod
    def load(cls, path: Path) -> AutotuneStore:
        """Read a file; one that is not there is an empty store.

        Raises:
            StoreFailed: the file or a record in it cannot be read; the message has the line.
        """
        store = cls()
        store._records = _read(path)
        return store

    def save_if_dirty(self, path: Path) -> bool:
        """Write what changed since loading or saving; whether there was anything to write.

        Raises:
            StoreFailed: the file cannot be read or written; it is left as it is.
        """
        if not self._changes:
            return False
        with exclusive(path):
            records = _read(path)
            for key, record in self._changes.items():
                before = records.pop(key, None)
                if record is not None:
                    records[key] = record if before is None else record.with_evidence_of(before)
            text = write_records(records)
            if len(text.encode()) > MOST_BYTES:
                raise StoreFailed(
                    f"{path} would have {len(text.encode())} bytes; {MOST_BYTES} allowed",
                    "forget records, or keep them in several files",
                )
            replace_text(path, text)
        self._records, self._changes = records, {}
        return True

    def get(self, key: AutotuneKey) -> AutotuneRecord | None:
        return self._records.get(key)

    def put(self, key: AutotuneKey, record: AutotuneRecord) -> None:
        try:
            (key.adapter_id + record.provenance).encode()
        except UnicodeEncodeError:
            raise InvalidInput(
                f"record {key.key_hex} has text that UTF-8 cannot hold",
                "use an adapter and a provenance without surrogates",
            ) from None
        self._records[key] = self._changes[key] = record

    def forget(self, key: AutotuneKey) -> bool:
        """Remove a record; whether there was one."""
        if self._records.pop(key, None) is None:
            return False
        self._changes[key] = None
        return True

    def merged(self, *others: AutotuneStore) -> AutotuneStore:
        """The records of all, the same in any order; of two for a key, the later one."""
        found: Records = {}
        for store in (self, *others):
            for key, record in store._records.items():
                found[key] = found.get(key, record).joined(record)
        return AutotuneStore(dict(sorted(found.items())))

    @property
    def is_dirty(self) -> bool:
        return bool(self._changes)

    @property
    def is_empty(self) -> bool:
        return not self._records

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[tuple[AutotuneKey, AutotuneRecord]]:
        return iter(sorted(self._records.items(), key=lambda item: item[0]))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AutotuneStore) and self._records == other._records

    __hash__ = None  # type: ignore[assignment]  # it changes


def _read(path: Path) -> Records:
    text = read_text(path, MOST_BYTES)
    return {} if text is None else read_records(text, path)
