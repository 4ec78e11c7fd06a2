#!/usr/bin/env python3
"""Runs drawn command lines of the program, whose files are aliases of each other, with descriptors closed.

    tests/tools/attacks/command_lines.py build/release/tools/kinetograph/kinetograph --seconds 60

Every run ends by itself, with 0, 1 or 2, and with a message unless it is 0. No input changes. Outputs appear only with
exit code 0, none of them empty; with another exit code the folder is as it was. The seed of a run that breaks one of
these is printed: --seed N --seconds 0 repeats it alone.
"""
import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

from attacked_program import WEIGHTS, contents_of, start, write_latents

INPUTS = ['clip.safetensors', 'other.safetensors', 'weights.safetensors']
NAMES = ['a.mp4', 'a.json', 'a.png', 'f%d.png', 'f0.png', 'f%02d.png', 'a-00000.png', 'a.safetensors', 'a.npy', 'a.gif',
         'sub/a.mp4', 'missing/a.mp4', 'sub', 'x' * 300 + '.mp4', 'sub/../a.png']
OPTIONS = {  # command -> options, with the kinds of their values
    'decode': {'-o': 'out', '--json': 'out', '--trace': 'out', '--stats': 'out', '--precision': ['fp32', 'bf16'],
               '--latent-frames': ['1', '2', '99'], '--partial': None, '--no-partial': None, '--each-clip': None,
               '--allow-not-finite': None, '--memory-budget': ['1', '1M', '1G', 'x']},
    'view': {'--record': 'out', '--screenshot': 'out', '--trace': 'out', '--stats': 'out', '--frames': ['1', '3', '0'],
             '--loop': None, '--size': ['64x32', '1x1', '0x0'], '--no-overlay': None},
    'weights': {'--json': 'out'},
    'graph': {'-o': 'out', '--size': ['64x32', '7x7'], '--step': ['first', 'later'], '--dot': None, '--json': None},
    'info': {}, 'families': {}, 'trace': {'--csv': 'out', '--top': ['1', '-1']},
}


def aliases_of(draw, folder, name):
    """Another name of `folder`/`name`, perhaps one that is made for it."""
    plain = os.path.join(folder, name)
    kind = draw.randrange(7)
    if kind == 0:
        return './' + name
    if kind == 1:
        return plain
    if kind == 2:
        return f'../{os.path.basename(folder)}/{name}'
    if kind in (3, 4) and os.path.isfile(plain):
        alias = f'alias{draw.randrange(10 ** 9)}{os.path.splitext(name)[1]}'
        (os.symlink if kind == 3 else os.link)(name if kind == 3 else plain, os.path.join(folder, alias))
        return alias
    return name


def draw_words(draw, folder):
    def file_of(use):
        if use == 'out' and draw.random() < 0.1:
            return draw.choice(['-', '/dev/full', '/dev/null', 'unix:sub/s', ''])
        return aliases_of(draw, folder, draw.choice(INPUTS if draw.random() < 0.3 else NAMES) if use == 'out'
                          else draw.choice(INPUTS))
    command = draw.choice(['decode'] * 6 + ['view', 'weights', 'graph', 'info', 'families', 'trace'])
    words = [command]
    if command in ('decode', 'view', 'trace'):
        words.append(draw.choice(['-', file_of('in'), file_of('in'), file_of('in')]))
    if command in ('decode', 'view', 'graph', 'weights'):
        weights = draw.choice([WEIGHTS, WEIGHTS, file_of('in')])
        words += [weights] if command == 'weights' else ['--weights', weights]
    if command in ('decode', 'view'):
        words += ['--lane', 'cpu']
    if command == 'view':
        words += ['--headless'] + (['--frames', '3'] if draw.random() < 0.8 else [])
    if command == 'decode':
        words += ['-o', file_of('out')]
    options = list(OPTIONS[command].items())
    for option, value in draw.sample(options, min(len(options), draw.randrange(4))):
        if option in words:
            continue
        words += [option] + ([] if value is None else [file_of('out') if value == 'out' else draw.choice(value)])
    return words


def identities_of(folder):
    """The folder, and name in it -> which file that is, links followed."""
    def identity(path):
        return (os.stat(path).st_dev, os.stat(path).st_ino) if os.path.exists(path) else None
    names = [os.path.relpath(os.path.join(root, name), folder) for root, _, files in os.walk(folder) for name in files]
    return folder, {name: identity(os.path.join(folder, name)) for name in names}


def names_of(identities, word):
    """All names in the folder of the file that `word` names."""
    folder, known = identities
    path = os.path.normpath(os.path.join(folder, word))
    name = os.path.relpath(path, folder)
    return {name} | {other for other, which in known.items() if which is not None and which == known.get(name)}


def attack(program, seed):
    """What is wrong, and nothing if all is well; with how it ended."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as around:
        folder = os.path.join(around, 'work')
        os.makedirs(os.path.join(folder, 'sub'))
        write_latents(os.path.join(folder, INPUTS[0]), 2)
        write_latents(os.path.join(folder, INPUTS[1]), 3)
        write_latents(os.path.join(folder, INPUTS[2]), 1)
        for name in draw.sample(['a.mp4', 'f0.png', 'a.json', 'a-00000.png'], draw.randrange(3)):
            with open(os.path.join(folder, name), 'w') as file:
                file.write('older ' + name)
        words = draw_words(draw, folder)
        before, identities = contents_of(folder), identities_of(folder)
        inputs = words[1:2] + ([words[words.index('--weights') + 1]] if '--weights' in words else [])
        read = set().union(*(names_of(identities, word) for word in inputs))
        closed = [d for d in range(3) if draw.random() < 0.1]
        said = os.path.join(around, 'said')
        with open(said, 'wb') as messages:
            process = start(program, words, folder, closed, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages)
            try:
                code = process.wait(60)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
                code = 'none within 60 s'
        with open(said, 'rb') as messages:
            text = messages.read().decode(errors='replace')
        after = contents_of(folder)
    what = f'seed {seed}, {" ".join(words)!r}, closed {closed}, exit code {code}: '
    if code not in (0, 1, 2):
        return what + text, code
    if code != 0 and 2 not in closed and not text:
        return what + 'not a word', code
    changed, added = {name for name in before if after.get(name) != before[name]}, set(after) - set(before)
    if changed & read:
        return what + f'inputs have changed: {changed & read}: {text}', code
    # statistics are appended as they come, and `weights` also describes what cannot be decoded
    kept = '--json' if words[0] == 'weights' else '--stats'
    kept = names_of(identities, words[words.index(kept) + 1]) if kept in words else set()
    if code != 0 and (changed | added) - kept and 'before that' not in text:
        return what + f'it left {sorted(added - kept)}, and changed {sorted(changed - kept)}: {text}', code
    if [name for name in added if '.kinetograph-' in name]:
        return what + f'it left {sorted(added)}', code
    return None, code


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    arguments.add_argument('program', type=os.path.abspath)
    arguments.add_argument('--seconds', type=float, default=60)
    arguments.add_argument('--seed', type=int, default=1, help='of the first run')
    arguments = arguments.parse_args()
    end, seed, wrong, codes = time.monotonic() + arguments.seconds, arguments.seed, 0, {}
    while True:
        found, code = attack(arguments.program, seed)
        codes[code] = codes.get(code, 0) + 1
        if found:
            wrong += 1
            print('WRONG:', found, flush=True)
        seed += 1
        if time.monotonic() >= end:
            break
    print(f'{seed - arguments.seed} command lines from seed {arguments.seed}, exit codes {codes}: '
          f'{wrong} broke a promise')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
