# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes an MPI library that prints the arguments of every call, Fortran programs that make every call, and what both must print.

Everything comes from the table of the ABI. Each argument has a value of its own, made from its position; results, too.
"""

import csv
from dataclasses import dataclass
from pathlib import Path

TABLE = Path(__file__).resolve().parents[2] / "crates/mpi-abi-sys/table/functions.tsv"
# Callbacks and their state, and the command line, are not arguments that can be echoed; programs in this folder have them.
LEFT_OUT = ("FUNCTION", "EXTRA_STATE", "STRING_ARRAY", "STRING_2DARRAY", "VARARGS", "LOGICAL_VOID")
HANDLES = ["Comm", "Group", "Datatype", "Op", "Request", "Message", "Info", "Errhandler", "Win", "File", "Session"]
# Deprecated before there was the module.
NOT_IN_F08 = ["Attr_delete", "Attr_get", "Attr_put", "Keyval_create", "Keyval_free"]
# Their texts have lengths that the program passes.
BY_LENGTH = ["Info_get", "Info_get_string", "Session_get_nth_pset", "Pcontrol"]


@dataclass
class Argument:
    """An argument: its place, its C declarator, and what the table says of it."""

    place: int
    name: str
    declarator: str
    kind: str
    intent: str
    length: str
    base: str = ""

    def __post_init__(self):
        self.base = self.declarator.replace("const ", "").split()[0].rstrip("*")
        self.is_array = "[" in self.declarator or self.name.startswith("array_of_")
        self.is_pointer = "*" in self.declarator or "[" in self.declarator

    @property
    def role(self):
        special = {"BUFFER": "buffer", "C_BUFFER": "address", "C_BUFFER2": "detached", "STRING": "text", "INDEX": "index"}
        if self.kind in special and (self.kind != "INDEX" or "requests" in self.declarator or self.declarator in
                                     ("int *indx", "int array_of_indices[]")):
            return special[self.kind]
        if self.kind.startswith("ATTRIBUTE_VAL"):
            return "attribute"
        if self.kind.startswith("LOGICAL"):
            return "logical"
        if self.base == "MPI_Status":
            return "status"
        if self.base.removeprefix("MPI_") in HANDLES:
            return "handle"
        if self.base == "void":
            return "buffer"
        return "integer"

    @property
    def wide(self):
        return self.base in ("MPI_Aint", "MPI_Count", "MPI_Offset")


@dataclass
class Function:
    """A function and its arguments in Fortran."""

    name: str
    row: dict
    arguments: list

    @property
    def large(self):
        return self.row["is_large_count"] == "yes"


def functions():
    """Those that are called."""
    with TABLE.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    found = []
    for row in rows:
        if row["chapter"] in ("mpi_t", "convert") or row["returns"] != "int" or row["name"][4:] in BY_LENGTH:
            continue
        if row["is_large_count"] == "yes" or any(word in row["parameter_kinds"] for word in LEFT_OUT):
            continue
        kinds = [cell.strip().split(":") for cell in row["parameter_kinds"].split(";") if cell.strip()]
        lengths = dict(cell.strip().split(":") for cell in row["array_lengths"].split(";") if cell.strip())
        text = row["standard_parameters"] or row["parameters"]
        declarators = [part.strip() for part in text.split(";") if part.strip() != "void"]
        arguments = []
        for place, (declarator, kind) in enumerate(zip(declarators, kinds)):
            if kind[1] not in ("ARGUMENT_COUNT", "ARGUMENT_LIST"):
                arguments.append(Argument(place, kind[0], declarator, kind[1], kind[2], lengths.get(kind[0], "")))
        found.append(Function(row["name"], row, arguments))
    return found


def given(function, argument):
    """The value of a scalar that goes in."""
    lengths = [other.length.strip("[").split(",")[0] for other in function.arguments]
    if argument.name in lengths or argument.name in ("incount",):
        return 2
    if argument.role == "logical":
        return 1
    return (1 << 33 if argument.wide else 0) + 101 + argument.place


def takes_in_place(function, argument):
    """Whether a buffer may be MPI_IN_PLACE, which is refused elsewhere before C gets it."""
    name = function.name.lower()
    if function.row["chapter"] != "coll" or "neighbor" in name:
        return False
    return argument.name == "sendbuf" or (argument.name == "recvbuf" and "scatter" in name and "reduce" not in name)


def constant(function, argument, mode):
    """What a program passes by a constant in a mode, and what C must get: a name for all faces, and a number."""
    if not mode:
        return None
    if argument.role == "buffer":
        if mode == "in place" and not takes_in_place(function, argument):
            return None
        return ("MPI_BOTTOM", 0) if mode == "bottom" else ("MPI_IN_PLACE", 1)
    if argument.role == "status" and argument.intent == "out":
        return ("MPI_STATUSES_IGNORE" if argument.is_array else "MPI_STATUS_IGNORE"), 0
    if argument.kind == "WEIGHT":
        return ("MPI_UNWEIGHTED", 10) if mode == "bottom" else ("MPI_WEIGHTS_EMPTY", 11)
    return None


def read(function, argument):
    """C expressions for what an argument holds when it arrives, and the numbers that they must be; nothing for results."""
    name = c_name(argument)
    if argument.kind == "WEIGHT" and argument.intent == "out":
        return [(f"(unsigned long){name} < 16 ? (long){name} : 0", 0)]
    if argument.role == "status" and argument.intent == "out":
        return [(f"{name} == 0", 0)]
    if argument.intent == "out" and argument.role != "buffer":
        return []
    place = argument.place
    if argument.role == "handle":
        if argument.is_array:
            return [(f"(long){name}[{i}]", (1 << 32) + 5000 + 10 * place + i) for i in range(2)]
        return [(f"(long){'*' if argument.is_pointer else ''}{name}", (1 << 32) + 5000 + 10 * place)]
    if argument.role == "buffer":
        return [(f"(unsigned long){name} < 16 ? (long){name} : *(const int *){name}", 601 + place)]
    if argument.role == "status":
        return [(f"{name}->MPI_SOURCE", 501 + place), (f"{name}->MPI_TAG", 521 + place)]
    if argument.role == "attribute":
        small = argument.kind.endswith("_10")
        # C gets an address of the value.
        return [(f"*(const long *){name}", 101 + place + (0 if small else 1 << 33))]
    if argument.role == "logical" and argument.is_array:
        return [(f"{name}[{i}]", 1 - i) for i in range(2)]
    if argument.role in ("integer", "logical"):
        if "[3]" in argument.declarator:
            return [(f"{name}[{i}][{j}]", 201 + place + 3 * i + j) for i in range(2) for j in range(3)]
        if argument.is_array:
            wide = 1 << 33 if argument.wide else 0
            if argument.kind == "WEIGHT":
                return [(f"(unsigned long){name} < 16 ? (long){name} : {name}[0]", 201 + 10 * place)]
            return [(f"(long){name}[{i}]", wide + 201 + 10 * place + i) for i in range(2)]
        return [(f"(long){'*' if argument.is_pointer else ''}{name}", given(function, argument))]
    return []


def c_name(argument):
    return argument.declarator.split("[")[0].split()[-1].lstrip("*")


def stores(function, argument):
    """C statements that store results, Fortran expressions that read them, and the numbers that they must be."""
    if argument.intent == "in" or argument.role == "buffer" or argument.role == "detached":
        return []
    name, place = c_name(argument), argument.place
    n = place
    if argument.role == "handle":
        if argument.is_array:
            return [(f"{name}[{i}] = (void *)(4294967296L + {6000 + 10 * n + i});", ("handles", argument, i), 6000 + 10 * n + i)
                    for i in range(2)]
        return [(f"*{name} = (void *)(4294967296L + {6000 + n});", ("handle", argument, 0), 6000 + n)]
    if argument.role == "status":
        count = 2 if argument.is_array else 1
        return [(f"{name}[{i}].MPI_SOURCE = {701 + 10 * n + i};", ("status", argument, i), 701 + 10 * n + i) for i in range(count)]
    if argument.role == "address":
        return [(f"*(void **){name} = (void *){801 + n}L;", ("address", argument, 0), 801 + n)]
    if argument.role == "attribute":
        return [(f"*(void **){name} = (void *){801 + n}L;", ("attribute", argument, 0), 801 + n)]
    if argument.role == "text":
        return [(f'strcpy({name}, "out{n}");', ("text", argument, 0), f"out{n}")]
    if argument.role == "logical":
        if argument.is_array:
            return [(f"{name}[{i}] = {7 * (1 - i)};", ("logicals", argument, i), 1 - i) for i in range(2)]
        return [(f"*{name} = 7;", ("logical", argument, 0), 1)]
    shift = 1 if argument.role == "index" else 0
    if argument.is_array:
        return [(f"{name}[{i}] = {401 + 10 * n + i};", ("integers", argument, i), 401 + 10 * n + i + shift) for i in range(2)]
    if argument.name in ("outcount", "resultlen"):
        return [(f"*{name} = 2;", ("integer", argument, 0), 2)]
    return [(f"*{name} = {401 + n};", ("integer", argument, 0), 401 + n + shift)]


# What the bindings ask on their own: two processes, two dimensions, four neighbours; handles are integers with another upper half.
ANSWERS = {"Comm_size": "*size = 2;", "Comm_rank": "*rank = 3;", "Comm_test_inter": "*flag = 0;", "Topo_test": "*status = MPI_CART;",
           "Cartdim_get": "*ndims = 2;"}


def library():
    """The C source of the library."""
    lines = ["#include <mpi.h>", "#include <stdio.h>", "#include <string.h>", "static FILE *out;",
             'static void begin(const char *name) { if (!out) out = fopen("calls", "w"); fprintf(out, "%s", name); }']
    for function in functions():
        text = function.row["standard_parameters"] or function.row["parameters"]
        head = text.replace(";", ",")
        body = [f'begin("{function.name}");']
        for argument in function.arguments:
            if argument.role == "text" and argument.intent == "in":
                body.append(f'fprintf(out, " {argument.name}=[%s]", {c_name(argument)});')
            for expression, _ in read(function, argument):
                body.append(f'fprintf(out, " {argument.name}=%ld", (long)({expression}));')
            stored = [statement for statement, _, _ in stores(function, argument)]
            if stored and (argument.role == "status" or argument.kind == "WEIGHT"):
                stored = [f"if ((unsigned long){c_name(argument)} >= 16) {{ {' '.join(stored)} }}"]
            body.extend(stored)
        body.append('fprintf(out, "\\n"); fflush(out); return 0;')
        lines.append(f"int {function.name}({head}) {{ {' '.join(body)} }}")
        answer = ANSWERS.get(function.name[4:])
        if answer:
            lines.append(f"int P{function.name}({head}) {{ {answer} return 0; }}")
    for kind in [*HANDLES]:
        short = "Type" if kind == "Datatype" else kind
        lines.append(f"int PMPI_{short}_toint(MPI_{kind} handle) {{ return (int)(long)handle; }}")
        lines.append(f"MPI_{kind} PMPI_{short}_fromint(int number) {{ return (void *)(4294967296L + number); }}")
    return "\n".join(lines) + "\n"


def calls(function, mode=""):
    """The line that the library must print for a call."""
    words = [function.name]
    for argument in function.arguments:
        if argument.role == "text" and argument.intent == "in":
            words.append(f"{argument.name}=[ab c]")
        passed = constant(function, argument, mode)
        for _, value in read(function, argument):
            if passed:
                value = int(passed[1] == 0) if argument.role == "status" else passed[1]
            words.append(f"{argument.name}={value}")
    return " ".join(words)


def results(function, mode=""):
    """The line that the program must print behind a call."""
    words = [function.name]
    for argument in function.arguments:
        if constant(function, argument, mode):
            continue
        words.extend(f"{argument.name}={value}" for _, _, value in stores(function, argument))
    return " ".join(words)


class Program:
    """A Fortran program that makes all calls through a face. With a mode, it makes those that take constants of MPI in the place of
    buffers, statuses and weights: "bottom" or "in place"."""

    def __init__(self, face, by_keyword, mode=""):
        self.face, self.by_keyword, self.mode = face, by_keyword, mode
        self.modern = face == "mpi_f08"
        self.lines = []

    def names(self):
        found = [f for f in functions() if not (self.modern and f.name[4:] in NOT_IN_F08)]
        if self.mode:
            found = [f for f in found if any(constant(f, argument, self.mode) for argument in f.arguments)]
        if self.mode == "in place":
            # The datatypes of what is not sent are not read.
            found = [f for f in found if not any(argument.name == "sendtypes" for argument in f.arguments)]
        return found

    def variable(self, argument, i=None):
        """The Fortran variable that an argument is; an entry of it if `i` is given."""
        n, role = argument.place, argument.role
        if role == "handle":
            kind = argument.base.removeprefix("MPI_").lower() if self.modern else "any"
            value = "%MPI_VAL" if self.modern and i is not None else ""
            if argument.is_array:
                return f"hv_{kind}({i + 1 if i is not None else ':'},{n}){value}"
            return f"h_{kind}({n}){value}"
        if role == "status":
            if i is None:
                return (f"s(:,{n})" if self.modern else f"s(:,:,{n})") if argument.is_array else (f"s(1,{n})" if self.modern else f"s(:,1,{n})")
            return f"s({i + 1},{n})%MPI_SOURCE" if self.modern else f"s(MPI_SOURCE,{i + 1},{n})"
        if role in ("address", "detached") and self.modern:
            return f"transfer(p({n}), w(1))" if i is not None else f"p({n})"
        if role == "detached":
            return f"b({n})"
        if role == "buffer":
            return f"b({n})"
        if role == "text":
            return f"t({n})"
        if role == "attribute" and argument.kind.endswith("_10"):
            return f"a({n})"
        name = {"logical": "l"}.get(role, "w" if argument.wide or role in ("address", "attribute") else "a")
        if "[3]" in argument.declarator:
            return "r"
        if argument.is_array:
            return f"{name}v({i + 1 if i is not None else ':'},{n})"
        return f"{name}({n})"

    def prepare(self, function, argument):
        n = argument.place
        variable = self.variable(argument)
        if argument.role == "handle":
            for i in range(2 if argument.is_array else 1):
                value = 5000 + 10 * n + i if argument.intent != "out" else -1
                yield f"{self.variable(argument, i)} = {value}"
        elif argument.role == "status":
            yield f"{self.variable(argument, 0)} = {501 + n}"
            tag = f"s(1,{n})%MPI_TAG" if self.modern else f"s(MPI_TAG,1,{n})"
            yield f"{tag} = {521 + n}"
        elif argument.role == "buffer":
            yield f"{variable} = {601 + n}"
        elif argument.role == "text":
            yield f"{variable} = '{'ab c' if argument.intent == 'in' else 'xxxxxxxxxxxxxxx'}'"
        elif argument.role == "logical":
            if argument.is_array:
                yield f"lv(:,{n}) = [.true., .false.]"
            else:
                yield f"{variable} = {'.false.' if argument.intent == 'out' else '.true.'}"
        elif argument.role == "attribute":
            yield f"{variable} = {101 + n}{'' if argument.kind.endswith('_10') else ' + 2_8**33'}"
        elif argument.role == "integer" and argument.intent != "out":
            if "[3]" in argument.declarator:
                yield f"r = reshape([{', '.join(str(201 + n + i) for i in range(6))}], [3, 2])"
            elif argument.is_array:
                wide = " + 2_8**33" if argument.wide else ""
                yield f"{variable} = [{201 + 10 * n}, {202 + 10 * n}]{wide}"
            else:
                value = given(function, argument)
                yield f"{variable} = {value & 0xffffffff if value >= 1 << 33 else value}{' + 2_8**33' if value >= 1 << 33 else ''}"

    def call(self, function, error):
        words = []
        for argument in function.arguments:
            keyword = {"indx": "index"}.get(c_name(argument), c_name(argument))
            passed = constant(function, argument, self.mode)
            value = passed[0] if passed else self.variable(argument)
            words.append(f"{keyword}={value}" if self.by_keyword else value)
        if self.by_keyword:
            words.reverse()
        if error:
            words.append("ierror=e" if self.by_keyword else "e")
        return f"call {function.name}(" + ", &\n    ".join(words) + ")"

    def text(self):
        """The source."""
        use = "" if self.face == "mpif.h" else f"use {self.face}\n"
        include = "include 'mpif.h'\n" if self.face == "mpif.h" else ""
        add = self.lines.append
        add(f"program echo\nuse iso_c_binding, only: c_ptr\n{use}implicit none\n{include}"
            "integer :: e, a(0:15), av(2,0:15), r(3,2), b(0:15)\n"
            "integer(8) :: w(0:15), wv(2,0:15)\nlogical :: l(0:15), lv(2,0:15)\ncharacter(15) :: t(0:15)\ntype(c_ptr) :: p(0:15)")
        if self.modern:
            add("type(MPI_Status) :: s(2,0:15)")
            for kind in HANDLES:
                add(f"type(MPI_{kind}) :: h_{kind.lower()}(0:15), hv_{kind.lower()}(2,0:15)")
        else:
            add("integer :: s(8,2,0:15), h_any(0:15), hv_any(2,0:15)")
        for number, function in enumerate(self.names()):
            for argument in function.arguments:
                for statement in self.prepare(function, argument):
                    add(statement)
            error = not self.modern or number % 2 == 0
            add("e = 77")
            add(self.call(function, error))
            if error:
                add(f"if (e /= 0) print '(a)', 'ierror of {function.name}'")
            add(f"write (*, '(a)', advance='no') '{function.name}'")
            for argument in function.arguments:
                for _, (what, _, i), _ in [] if constant(function, argument, self.mode) else stores(function, argument):
                    expression = self.variable(argument, i)
                    if what == "text":
                        form, expression = "a,a", f"trim({expression})"
                    else:
                        form = "a,i0"
                        if argument.role == "logical":
                            expression = f"merge(1, 0, {expression})"
                    add(f"write (*, '({form})', advance='no') ' {argument.name}=', {expression}")
            add("print '()'")
        add("end program")
        return "\n".join(self.lines) + "\n"
