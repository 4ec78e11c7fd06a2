#!/usr/bin/env python3
"""Kills the program at drawn moments and checks what lies on the disk.

    tests/tools/attacks/kills.py build/release/tools/kinetograph/kinetograph --count 1000

A decode to a video, a sequence of pictures or tensors replaces older outputs. It is ended by a drawn signal at a drawn
moment: any, around its end, or just after a hidden name, a sequence that is being put in place or a new output has
appeared. After a signal that can be caught the outputs are all older ones or all new
ones, as its last word says, and nothing else lies in the folder. After SIGKILL the next run, which is not disturbed,
leaves all new outputs and nothing else; in between a single output is whole, older or new. The last line counts what
the kills themselves left: older outputs, new ones, or others beside a hidden name that tells of them.
"""
import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time

from attacked_program import WEIGHTS, contents_of, start, write_latents

FRAMES = 6  # latent frames: 21 pictures
OUTPUTS = {'video': 'out.mp4', 'pictures': 'f%d.png', 'tensor': 'out.safetensors'}
SIGNALS = [signal.SIGKILL] * 3 + [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGALRM,
                                  signal.SIGUSR1, signal.SIGXCPU]
SIGNS = ['.partial', '.placing', 'replaced']  # a hidden name that ends so, or a picture or clip that is another file


class Attack:
    def __init__(self, program, folder, kind):
        self.program, self.folder, self.kind = program, folder, kind
        self.inputs = os.path.join(folder, 'in')
        self.outputs = os.path.join(folder, 'out')
        os.makedirs(self.inputs)
        write_latents(os.path.join(self.inputs, 'clip.safetensors'), FRAMES)
        self.words = ['decode', os.path.join(self.inputs, 'clip.safetensors'), '--weights', WEIGHTS, '--lane', 'cpu',
                      '-o', OUTPUTS[kind], '--json', 'facts.json']
        self.reset()
        begin = time.monotonic()
        assert self.run(None)[0] == 0
        self.seconds = time.monotonic() - begin
        self.new = self.pictures()

    def reset(self):
        shutil.rmtree(self.outputs, ignore_errors=True)
        os.makedirs(self.outputs)

    def pictures(self):
        """Everything but the statistics, whose figures differ from run to run."""
        return {name: what for name, what in contents_of(self.outputs).items() if name != 'facts.json'}

    def put_older(self):
        self.reset()
        for name in [*self.new, 'facts.json']:
            with open(os.path.join(self.outputs, name), 'w') as file:
                file.write('older ' + name)
        return self.pictures()

    def inodes(self):
        """Of the outputs in place, and the endings of hidden names."""
        entries = [(entry.name, entry.inode()) for entry in os.scandir(self.outputs)]
        return ({inode for name, inode in entries if not name.startswith('.') and name != 'facts.json'},
                {os.path.splitext(name)[1] for name, _ in entries if name.startswith('.')})

    def wait_for(self, process, sign):
        """Until the sign, or the end of the process."""
        before, _ = self.inodes()
        while process.poll() is None:
            now, endings = self.inodes()
            if sign in endings or (sign == 'replaced' and now - before):
                return
            time.sleep(0.0002)

    def run(self, moment, number=signal.SIGKILL, sign=None):
        """Exit code and messages; `moment`: seconds after its start or the sign, none: to the end."""
        with tempfile.TemporaryFile() as messages:
            process = start(self.program, self.words, self.outputs, stdin=-3, stdout=messages, stderr=messages)
            if moment is not None:
                if sign:
                    self.wait_for(process, sign)
                time.sleep(moment)
                process.send_signal(number)
            code = process.wait(60)
            messages.seek(0)
            return code, messages.read().decode(errors='replace')

    def strike(self, draw):
        """What is wrong, and nothing if all is well; with what the kill left."""
        older, number = self.put_older(), draw.choice(SIGNALS)
        sign = draw.choice([None, None, *SIGNS])
        moment = (draw.uniform(0, 0.004) if sign else
                  self.seconds * draw.choice([draw.uniform(0, 1.2), draw.uniform(0.8, 1.1)]))
        code, messages = self.run(moment, number, sign)
        left = self.pictures()
        state = 'older' if left == older else 'new' if left == self.new else 'others'
        what = f'{self.kind}, {number.name} {moment * 1000:.1f} ms after {sign or "its start"}, exit code {code}: '
        return self.judge(older, left, number, code, messages, what), state

    def judge(self, older, left, number, code, messages, what):
        if number == signal.SIGKILL:
            is_told = any(name.endswith('.placing') for name in left)
            odd = [name for name in {*older, *left} if not name.startswith('.kinetograph-') and not
                   (left[name] in (older.get(name), self.new.get(name)) if name in left else is_told)]
            if odd:
                return what + f'neither older ones nor new ones, and nothing tells of it: {odd} of {sorted(left)}'
            code, messages = self.run(None)
            left = self.pictures()
            if code != 0 or left != self.new:
                return what + f'the next run ended with {code} and left {sorted(left)}: {messages}'
            return None
        if left not in (older, self.new):
            return what + f'it left {sorted(set(left.items()) ^ set(self.new.items()))}: {messages}'
        is_new = left == self.new and left != older
        says_new = code == 0 or 'complete: ' in messages
        if code != -number and is_new != says_new:  # before it guards its outputs a signal ends it as any process
            return what + f'the outputs are {"new" if is_new else "older"} ones, and it says: {messages}'
        if code == -number and is_new and ' frames of ' not in messages:  # its last word, once all is in place
            return what + 'it ended without a word after the outputs were replaced'
        return None


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    arguments.add_argument('program', type=os.path.abspath)
    arguments.add_argument('--count', type=int, default=1000)
    arguments.add_argument('--seed', type=int, default=1)
    arguments = arguments.parse_args()
    draw, wrong, states = random.Random(arguments.seed), [], {'older': 0, 'new': 0, 'others': 0}
    with tempfile.TemporaryDirectory() as folder:
        attacks = [Attack(arguments.program, os.path.join(folder, kind), kind) for kind in OUTPUTS]
        for _ in range(arguments.count):
            found, state = draw.choice(attacks).strike(draw)
            states[state] += 1
            if found:
                wrong.append(found)
                print('WRONG:', found, flush=True)
    print(f'{arguments.count} kills, seed {arguments.seed}, left {states}: {len(wrong)} left something wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
