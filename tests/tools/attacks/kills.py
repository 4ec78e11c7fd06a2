#!/usr/bin/env python3
"""Kills the program at drawn moments and checks what lies on the disk.

    tests/tools/attacks/kills.py build/release/tools/kinetograph/kinetograph --count 1000

A decode to a video, a sequence of pictures or tensors replaces older outputs. It is ended by a drawn signal at a drawn
moment, of which half lie around its end. After a signal that can be caught the outputs are all older ones or all new
ones, as its last word says, and nothing else lies in the folder. After SIGKILL the next run, which is not disturbed,
leaves all new outputs and nothing else; in between a single output is whole, older or new.
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

    def run(self, moment, number=signal.SIGKILL):
        """Exit code and messages; `moment`: seconds after its start, none: to the end."""
        with tempfile.TemporaryFile() as messages:
            process = start(self.program, self.words, self.outputs, stdin=-3, stdout=messages, stderr=messages)
            if moment is not None:
                time.sleep(moment)
                process.send_signal(number)
            code = process.wait(60)
            messages.seek(0)
            return code, messages.read().decode(errors='replace')

    def strike(self, draw):
        """What is wrong, and nothing if all is well."""
        older, number = self.put_older(), draw.choice(SIGNALS)
        moment = self.seconds * (draw.uniform(0, 1.2) if draw.random() < 0.5 else draw.uniform(0.8, 1.1))
        code, messages = self.run(moment, number)
        left = self.pictures()
        what = f'{self.kind}, {number.name} after {moment * 1000:.1f} ms, exit code {code}: '
        if number == signal.SIGKILL:
            single = OUTPUTS[self.kind]
            if single in older and left.get(single) not in (older[single], self.new[single]):
                return what + f'{single} is neither the older nor the new one'
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
    draw, wrong = random.Random(arguments.seed), []
    with tempfile.TemporaryDirectory() as folder:
        attacks = [Attack(arguments.program, os.path.join(folder, kind), kind) for kind in OUTPUTS]
        for _ in range(arguments.count):
            found = draw.choice(attacks).strike(draw)
            if found:
                wrong.append(found)
                print('WRONG:', found, flush=True)
    print(f'{arguments.count} kills, seed {arguments.seed}: {len(wrong)} left something wrong')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
