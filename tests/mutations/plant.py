#!/usr/bin/env python3
"""Plants drawn faults in a copy of the host's code, and lists those that the tests that cover it do not see.

    tests/mutations/plant.py --count 100 --seed 1 --rooms engine/base engine/graph compute/formats

All faults of a draw are compiled into one copy (mutant.hpp), each behind a number that a run of a test program chooses:
a comparison that is another one, a 1 that is not added, a statement that is left out (a reset, a part of a key), a part
of a condition that is left out, two arguments that are swapped. What shows in no result is not planted (UNSEEN). Test
programs cover a source if their own sources lie in its folder under tests/ and they are linked with its target (CMake's
file API); all programs of a draw, and those that --further names, are run for each fault that they execute. A fault
counts as seen if one of them fails, crashes or takes five times as long. Faults that none executes are listed apart.
--only N runs one fault again, with the programs' output. Exit code: 1 if more than --survivors survive.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
NAMES = {'<': 'Less', '<=': 'LessEqual', '>': 'Greater', '>=': 'GreaterEqual', '==': 'Equal', '!=': 'NotEqual'}
OTHER = {'<': '<=', '<=': '<', '>': '>=', '>=': '>', '==': '!=', '!=': '=='}
STATEMENT = re.compile(r'\s+((?:\+\+|--)[\w.>\-\[\]]+|[\w.>\-\[\]]+ (?:=|\+=|-=|\|=|&=) [^{}]+|'
                       r'[\w.>\-:\[\]]+\([^{}]*\)|[\w.>\-\[\]]+ = \{\});$')
NOT_DROPPED = re.compile(r'\s*(return|using|const|auto|static|throw|delete|case|KG_TRY|KG_TRY_IN|break|continue|else|'
                         r'std::move)\b')
# Capacity, what is logged, names of threads, hints to kernel and processor, what only a loss of power shows; results of
# system calls that are never 0; calls whose arguments may be swapped.
UNSEEN = re.compile(r'\.(reserve|shrink_to_fit)\(|\blog\w*(\(\))?(\.|->)(debug|info|warn|error)\(|'
                    r'\bpthread_setname_np\(|\bmadvise\(|\brelax\(|\bspin_until\(|\bkSpins\b|\bassert\(|'
                    r'\bfsync\(|\bflush_folder\(')
NEVER_ZERO = re.compile(r'\b(fd_?|written) (<|>=) 0\b')
UNEQUAL = re.compile(r'(\S+) != (\S+) \? \1( [<>] )\2')  # values that the line has found unequal
SYMMETRIC = {'min', 'max', 'minmax', 'swap', 'equal', 'equivalent'}
RESET = re.compile(r'(= (0|\{\}|false|true|nullptr|std::nullopt)|\.(reset|clear)\(\));$|^\s*(\+\+|--)')


def masked(text):
    """The text with comments, literals of text and preprocessor lines blanked."""
    def blank(match):
        return re.sub(r'[^\n]', '\x00', match.group())
    pattern = r'//[^\n]*|/\*.*?\*/|R"\((?:.|\n)*?\)"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|^\s*#[^\n]*'
    return re.sub(pattern, blank, text, flags=re.S | re.M)


def closing(text, begin):
    """Where the parenthesis that is open at `begin` ends; none on this line: None."""
    depth = 1
    for at in range(begin, len(text)):
        depth += {'(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1}.get(text[at], 0)
        if depth == 0:
            return at
    return None


def parts_of_conditions(line):
    """(begin, end, joint) of the last part of a condition on one line."""
    for match in re.finditer(r'\b(?:if|while) \(|\breturn ', line):
        end = closing(line, match.end()) if match.group().endswith('(') else line.rfind(';')
        if end is None or end < 0:
            continue
        depth, joints = 0, []
        for at in range(match.end(), end):
            depth += {'(': 1, '[': 1, '{': 1, ')': -1, ']': -1, '}': -1}.get(line[at], 0)
            if depth == 0 and line[at:at + 2] in ('&&', '||'):
                joints.append((at + 3, line[at:at + 2]))
        if joints and len({joint for _, joint in joints}) == 1 and '?' not in line[match.end():end] and depth == 0:
            yield joints[-1][0], end, joints[-1][1]


def sites_of(path):
    """(kind, line number, begin, end, what to put there, what it is) of every fault that can be planted."""
    text = (SOURCE / path).read_text()
    lines, before = masked(text).split('\n'), ''
    for number, line in enumerate(lines):
        plain = text.split('\n')[number] if '\x00' in line else line
        if re.search(r'\b(constexpr|static_assert|template|requires|operator|concept)\b', line) or UNSEEN.search(line):
            before = line.strip() or before
            continue
        for match in re.finditer(r' (<=|>=|==|!=|<|>) ', line):
            symbol = match.group(1)
            if (any(match.start() in range(*never.span()) for never in NEVER_ZERO.finditer(line)) or
                    any(match.start() == unequal.start(3) for unequal in UNEQUAL.finditer(line))):
                continue
            yield ('comparison', number, *match.span(), f' {symbol} kg_mutations::{NAMES[symbol]}<@>{{}} {symbol} ',
                   f'{symbol} as {OTHER[symbol]}')
        for match in re.finditer(r'(?<= [+-] )1\b(?![.\'UuLl])', line):
            yield 'off by one', number, *match.span(), 'kg_mutations::one(@)', 'without the 1'
        for begin, end, joint in parts_of_conditions(line):
            part = plain[begin:end]
            if '=' not in re.sub('[<>=!]=', '', line[begin:end]):
                new = f'(kg_mutations::is(@) || ({part}))' if joint == '&&' else f'(!kg_mutations::is(@) && ({part}))'
                yield 'condition', number, begin, end, new, f'without {joint} {part}'
        if (STATEMENT.match(line) and not NOT_DROPPED.match(line) and line.count('(') == line.count(')') and
                (before.endswith((';', '{', '}')) or not before)):
            kind = 'key' if 'mix(' in line else 'reset' if RESET.search(line) else 'statement'
            begin = len(line) - len(line.lstrip())
            yield kind, number, begin, begin, 'if (!kg_mutations::is(@)) ', 'without ' + plain.strip()
        for match in re.finditer(r'(?<![\w.>:])([a-z_]\w*(?:::\w+)*)\((\w[\w.]*), (\w[\w.]*)((?:, [\w.:]+)*)\)', line):
            name, first, second, rest = match.groups()
            prefix = line[:match.start()].rstrip()
            if (name.split('::')[-1] in SYMMETRIC | {'if', 'for', 'while', 'switch', 'fail'} or first == second
                    or (prefix and re.search(r'[\w>*&]$', prefix) and not prefix.endswith('return'))):
                continue
            yield ('arguments', number, *match.span(),
                   f'(kg_mutations::is(@) ? {name}({second}, {first}{rest}) : {match.group()})',
                   f'{name}({second}, {first}{rest})')
        before = line.strip() or before


def draw_sites(paths, count, seed):
    """`count` sites, a kind first, so that rare kinds come as often; at most one on a line."""
    draw, kinds = random.Random(seed), {}
    for path in paths:
        for site in sites_of(path):
            kinds.setdefault(site[0], []).append((path, *site))
    drawn, taken = [], set()
    while kinds and len(drawn) < count:
        kind = draw.choice(sorted(kinds))
        site = kinds[kind].pop(draw.randrange(len(kinds[kind])))
        if not kinds[kind]:
            del kinds[kind]
        if (site[0], site[2]) not in taken:
            taken.add((site[0], site[2]))
            drawn.append(site)
    return drawn


class Build:
    """A copy of the tree with all faults compiled in."""

    def __init__(self, folder, options):
        self.source, self.build = folder / 'source', folder / 'source/build/release'
        self.left_out = set()
        self.source.mkdir(parents=True, exist_ok=True)
        files = subprocess.run(['git', 'ls-files', '-z'], cwd=SOURCE, check=True, capture_output=True).stdout
        for name in files.decode().split('\0'):
            if name and (SOURCE / name).is_file():
                self.put(name, (SOURCE / name).read_bytes())
        query = self.build / '.cmake/api/v1/query'
        query.mkdir(parents=True, exist_ok=True)
        (query / 'codemodel-v2').touch()
        self.environment = {**os.environ, 'CCACHE_BASEDIR': str(self.source), 'CCACHE_NOHASHDIR': '1'}
        launcher = ['-DCMAKE_CXX_COMPILER_LAUNCHER=ccache'] if shutil.which('ccache') else []
        subprocess.run(['cmake', '--preset', 'release', '-DKINETOGRAPH_CUDA_ARCHITECTURES=none', *launcher, *options],
                       cwd=self.source, env=self.environment, check=True, stdout=subprocess.DEVNULL)
        self.read_targets()

    def put(self, name, contents):
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != contents:
            path.write_bytes(contents)
            path.chmod((SOURCE / name).stat().st_mode)

    def read_targets(self):
        reply = self.build / '.cmake/api/v1/reply'
        model = json.loads(next(reply.glob('codemodel-*.json')).read_text())
        self.targets = {}
        for target in model['configurations'][0]['targets']:
            facts = json.loads((reply / target['jsonFile']).read_text())
            self.targets[target['id']] = {
                'name': facts['name'], 'type': facts['type'],
                'sources': [source['path'] for source in facts.get('sources', [])],
                'needs': [each['id'] for each in facts.get('dependencies', [])],
                'program': self.build / facts['artifacts'][0]['path'] if facts.get('artifacts') else None}

    def needs(self, identity):
        found, left = set(), [identity]
        while left:
            each = left.pop()
            if each not in found:
                found.add(each)
                left += self.targets[each]['needs']
        return found

    def covering(self, path):
        """The test programs of the source's folder that are linked with it; else of the folders around it."""
        owners = {key for key, target in self.targets.items() if path in target['sources']}
        folder = pathlib.PurePath('tests') / pathlib.PurePath(path).parent
        while len(folder.parts) > 1:
            found = [key for key, target in self.targets.items()
                     if target['type'] == 'EXECUTABLE' and target['name'].endswith('_test') and owners & self.needs(key)
                     and any(pathlib.PurePath(source).is_relative_to(folder) for source in target['sources'])]
            if found:
                return [self.targets[key] for key in found]
            folder = folder.parent
        return []

    def plant(self, sites, paths):
        """Sources without a fault check their bounds too: a batch of sources has one library."""
        texts = {path: (SOURCE / path).read_text().split('\n') for path in paths}
        for number, (path, _, line, begin, end, new, _) in enumerate(sites):
            if number not in self.left_out:
                lines = texts[path]
                lines[line] = lines[line][:begin] + new.replace('@', str(number)) + lines[line][end:]
        for path, lines in texts.items():
            lines[0] = f'#include "{self.source}/tests/mutations/mutant.hpp"\n#line 1\n{lines[0]}'
            self.put(path, '\n'.join(lines).encode())

    def compile(self, sites, paths, programs, jobs):
        """Leaves out, as not valid C++, the faults on lines that the compiler names."""
        while True:
            self.plant(sites, paths)
            command = ['cmake', '--build', self.build, '-j', str(jobs), '--target', *programs, '--', '-k', '0']
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
            if done.returncode == 0:
                return
            named = set(re.findall(r'([\w./-]+\.[ch]pp):(\d+)', done.stdout))
            wrong = {number for number, site in enumerate(sites)
                     if any(path.endswith(site[0]) and int(line) == site[2] + 1 for path, line in named)}
            if not wrong - self.left_out:
                sys.exit('the copy cannot be built:\n' + done.stdout[-4000:])
            self.left_out |= wrong


def run(program, number, limit, tests='*', reached=None, is_shown=False):
    """Exit code and output."""
    environment = {**os.environ, 'KINETOGRAPH_MUTANT': str(number),
                   'OMP_WAIT_POLICY': 'PASSIVE', 'KINETOGRAPH_CUDA_LIBRARY': 'none', 'KINETOGRAPH_CHAOS_SECONDS': '1',
                   'KINETOGRAPH_SOAK_ROUNDS': '20', 'KINETOGRAPH_LOSS_ROUNDS': '2', 'KINETOGRAPH_COMMAND_LINES': '400'}
    if reached is not None:
        environment['KINETOGRAPH_REACHED'] = str(reached)
    process = subprocess.Popen([program, '--gtest_fail_fast=1', f'--gtest_filter={tests}'], cwd=program.parent,
                               env=environment, stdin=subprocess.DEVNULL, stdout=None if is_shown else subprocess.PIPE,
                               stderr=None if is_shown else subprocess.STDOUT, process_group=0)
    try:
        return process.wait(limit) if is_shown else process.communicate(timeout=limit)[0], process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return b'', -9


class Program:
    """A test program in two parts: the tests that take 0.3 s at most, which see most faults, and the others."""

    def __init__(self, name, path, note, longest):
        self.path, self.reached, self.parts = path, set(), []
        note.unlink(missing_ok=True)
        output, code = run(path, -1, 900, reached=note)
        if code != 0:
            print(f'{name}: left out, it fails without a fault or takes more than 900 s', flush=True)
            return
        found = re.findall(r'\[ +OK \] (\S+?)(?:, where .*)? \((\d+) ms\)', output.decode(errors='replace'))
        took = {test: int(milliseconds) / 1000 for test, milliseconds in found}
        slow = {test: seconds for test, seconds in took.items() if 0.3 < seconds <= longest}
        for test in took:
            if took[test] > longest:
                print(f'{name}: {test} is left out: it takes {took[test]:.0f} s', flush=True)
        self.reached = {int(line) for line in note.read_text().split()} if note.exists() else set()
        quick = sum(seconds for seconds in took.values() if seconds <= 0.3)
        self.parts = [(quick, name, '-' + ':'.join(test for test in took if took[test] > 0.3))]
        if slow:
            self.parts.append((sum(slow.values()), name, ':'.join(slow)))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    arguments.add_argument('--count', type=int, default=100)
    arguments.add_argument('--seed', type=int, default=1)
    arguments.add_argument('--rooms', nargs='+', default=['engine/base', 'engine/graph', 'engine/profile',
                                                          'compute/tensor', 'compute/formats', 'compute/live'])
    arguments.add_argument('--further', nargs='+', default=[], help='test programs of other folders')
    arguments.add_argument('--folder', type=lambda path: pathlib.Path(path).resolve(),
                           default='/tmp/kinetograph-mutants')
    arguments.add_argument('--longest', type=float, default=20, help='seconds of a test, else it is left out')
    arguments.add_argument('--survivors', type=int, help='most that may survive; default: an eighth')
    arguments.add_argument('--only', type=int, help='number of one fault')
    arguments.add_argument('--jobs', type=int, default=2)
    arguments.add_argument('options', nargs='*', help='for cmake, after --')
    arguments = arguments.parse_args()

    paths = sorted(str(path.relative_to(SOURCE)) for room in arguments.rooms for path in (SOURCE / room).rglob('*.cpp'))
    build = Build(arguments.folder, arguments.options)
    covering = {path: build.covering(path) for path in paths}
    sites = draw_sites([path for path in paths if covering[path]], arguments.count, arguments.seed)
    programs = {target['name']: target['program'] for site in sites for target in covering[site[0]]}
    programs |= {target['name']: target['program'] for target in build.targets.values()
                 if target['name'] in arguments.further}
    build.compile(sites, paths, sorted(programs), arguments.jobs)

    programs = {name: Program(name, path, arguments.folder / f'reached-{name}', arguments.longest)
                for name, path in sorted(programs.items())}

    def seen_by(number):
        parts = sorted(part for program in programs.values() if number in program.reached for part in program.parts)
        for took, name, tests in parts:
            if run(programs[name].path, number, 5 * took + 10, tests, is_shown=arguments.only is not None)[1] != 0:
                return name
        return None

    planted = [number for number in range(len(sites)) if number not in build.left_out]
    executed = [number for number in planted if any(number in program.reached for program in programs.values())]
    if arguments.only is not None:
        executed = [arguments.only]
    def tell(number, state):
        path, kind, line, _, _, _, what = sites[number]
        print(f'{number:4} {kind:10} {path}:{line + 1}: {what}: {state}', flush=True)

    for number in planted:
        if number not in executed:
            tell(number, 'not executed')
    survivors = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for number, name in zip(executed, pool.map(seen_by, executed)):
            tell(number, f'seen by {name}' if name else 'SURVIVES')
            survivors += [] if name else [number]
    most = arguments.survivors if arguments.survivors is not None else len(executed) // 8
    print(f'{len(planted)} faults, seed {arguments.seed}: {len(planted) - len(executed)} not executed, '
          f'{len(executed) - len(survivors)} of {len(executed)} seen, {len(survivors)} survive (at most {most})')
    return 1 if len(survivors) > most else 0


if __name__ == '__main__':
    sys.exit(main())
