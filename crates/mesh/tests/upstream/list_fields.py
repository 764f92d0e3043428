#!/usr/bin/env python3
"""Lists the fields of Envoy's protobuf messages: `list_fields.py API_FOLDER FILE.proto ...`.

API_FOLDER holds `envoy/`, as in github.com/envoyproxy/data-plane-api. Prints for each message its full
name and below it a line a field: number, name, type (`@` before a message's name; `repeated ` before a
repeated field's; maps as `map<key, value>`). Reserved fields have no line. No compiler is needed: the
files have one style, and what is not understood ends the program.
"""

import re
import sys

SCALARS = set(
    "double float int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 sfixed32 sfixed64 bool "
    "string bytes".split()
)
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[A-Za-z_][\w.]*|\.[A-Za-z_][\w.]*|-?[\d.][\w.]*|[^\s\w]')


def tokens_of(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    return TOKEN.findall(text)


class File:
    def __init__(self, path, text):
        self.tokens, self.at, self.path = tokens_of(text), 0, path
        self.package, self.messages, self.enums = "", [], set()
        while self.at < len(self.tokens):
            word = self.next()
            if word == "package":
                self.package = self.next()
                self.skip_to(";")
            elif word == "message":
                self.message(self.package)
            elif word == "enum":
                self.enum(self.package)
            elif word in ("service", "extend"):
                self.next()
                self.skip_block()
            elif word != ";":
                self.skip_to(";")

    def next(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self):
        return self.tokens[self.at]

    def skip_to(self, end):
        depth = 0
        while True:
            word = self.next()
            if word in "{[(":
                depth += 1
            elif word in "}])":
                depth -= 1
            elif word == end and depth == 0:
                return

    def skip_block(self):
        while self.next() != "{":
            pass
        depth = 1
        while depth:
            word = self.next()
            depth += (word == "{") - (word == "}")

    def enum(self, scope):
        self.enums.add(f"{scope}.{self.next()}")
        self.at -= 1
        self.skip_block()

    def message(self, scope):
        name = f"{scope}.{self.next()}"
        fields = []
        self.messages.append((name, fields))
        assert self.next() == "{", self.path
        self.body(name, fields)

    def body(self, name, fields):
        while True:
            word = self.next()
            if word == "}":
                return
            if word == ";":
                continue
            if word in ("option", "reserved", "extensions"):
                self.skip_to(";")
            elif word == "message":
                self.message(name)
            elif word == "enum":
                self.enum(name)
            elif word == "oneof":
                self.next()
                assert self.next() == "{", self.path
                self.body(name, fields)
            else:
                self.field(word, fields)

    def field(self, word, fields):
        repeated = word == "repeated"
        if word in ("repeated", "optional", "required"):
            word = self.next()
        kind = word
        if word == "map":
            assert self.next() == "<", self.path
            key = self.next()
            assert self.next() == ",", self.path
            kind = ("map", key, self.next())
            assert self.next() == ">", self.path
        name = self.next()
        assert self.next() == "=", (self.path, name, word)
        number = int(self.next(), 0)
        self.skip_to(";")
        fields.append((number, name, kind, repeated))


def main():
    folder, paths = sys.argv[1], sys.argv[2:]
    files = [File(path, open(f"{folder}/{path}").read()) for path in paths]
    messages = {name for file in files for name, _ in file.messages}
    enums = set().union(*(file.enums for file in files))

    def resolved(kind, scope):
        if kind in SCALARS:
            return kind
        if kind.startswith("."):
            return "@" + kind[1:]
        # Names are looked for from the inside to the outside.
        while True:
            name = f"{scope}.{kind}" if scope else kind
            if name in messages:
                return "@" + name
            if name in enums:
                return "enum"
            if not scope:
                # Of a file that was not given: only its name is known.
                return "@" + kind
            scope = scope.rpartition(".")[0]

    for file in files:
        for name, fields in file.messages:
            print(name)
            for number, field, kind, repeated in sorted(fields):
                if isinstance(kind, tuple):
                    text = f"map<{kind[1]}, {resolved(kind[2], name)}>"
                else:
                    text = ("repeated " if repeated else "") + resolved(kind, name)
                print(f"  {number} {field} {text}")


if __name__ == "__main__":
    main()
