import { describe, expect, it } from 'vitest';
import { bareProgram, openResidentProgram } from '../runners/program/run-a-resident-program.ts';
import { python, runHarness, writeHarness } from './run-a-harness.ts';

const done = { type: 'done' };
const failed = (message: string | RegExp, retryable = false) => ({
  type: 'failed',
  message: expect.stringMatching(message),
  retryable,
});
const json = (...values: unknown[]) => ['json', values];
const text = (...values: string[]) => ['text', values];

const TYPES = `
from __future__ import annotations
import enum
from pathlib import Path
from typing import Annotated, Any, Dict, List, Literal, Optional, TYPE_CHECKING, Union
if TYPE_CHECKING:
    from nowhere import Result

class Size(enum.Enum):
    small = 1
    large = 2

def predict(
    prompt: str, *, steps: int = 20, scale: float = 1.5, fast: bool = False, seed: Optional[int],
    style: Literal["photo", "drawing"] = "photo", size: Size = Size.small, tags: List[str] = [], boxes: list[list[int]] = [],
    options: Dict[str, float] = {}, image: Optional[Path] = None, images: list[Path] = [],
    rate: Annotated[int, "a note"] = 1, either: Union[int, str] = 0, anything: Any = None, bare=None, context=None,
) -> Result:
    values = dict(locals())
    del values["context"]
    print("types", {name: type(value).__name__ for name, value in values.items()})
    for name in ("size",):
        values[name] = size.name
    values["image"] = image and [image.is_absolute(), image.read_text()]
    values["images"] = [each.read_text() for each in images]
    return values
`;

const PREDICTOR = `
from cog import BaseModel, BasePredictor, Input, Path, Secret
import tempfile

class Output(BaseModel):
    seed: int
    picture: Path

class Predictor(BasePredictor):
    def setup(self) -> None:
        self.loaded = getattr(self, "loaded", 0) + 1
        print("set up")

    def predict(
        self,
        image: Path = Input(description="A picture"),
        steps: int = Input(description="Steps", default=20, ge=1, le=50),
        token: Secret = Input(description="A token"),
        mask: Path = Input(default=None),
        note: str = Input(default="none", choices=["none", "some"]),
    ) -> Output:
        to = Path(tempfile.mkdtemp()) / "made.txt"
        to.write_text(image.read_text().upper() + str(steps) + token.get_secret_value() + str(token) + str(self.loaded) + str(mask))
        return Output(seed=7, picture=to)
`;

const OUTPUTS = `
import asyncio, enum, tempfile
from pathlib import Path
from runledger_resident import RunFailed

class Picture:
    def save(self, path, format=None):
        Path(path).write_text("a picture")

class Kind(enum.Enum):
    a = "A"

class Number:
    def tolist(self):
        return 5

def temporary(name):
    path = Path(tempfile.mkdtemp()) / name
    path.write_text(name)
    return path

def predict(what: str, context):
    if what == "values":
        return ["a text", 1, {"k": Kind.a, "n": Number()}, None]
    if what == "texts":
        return ["one", "two"]
    if what == "none":
        return None
    if what == "a list of lists":
        return [[1, 2], [3]]
    if what == "files":
        mine = context.output_dir / "folder" / "mine.txt"
        mine.parent.mkdir()
        mine.write_text("mine")
        same = temporary("same.txt")
        return [mine, same, same, temporary("same.txt"), Path("kept.txt"), b"bytes", Picture(), Picture()]
    if what == "a dict":
        return {"mask": temporary("mask.txt"), "score": 0.5}
    if what == "a dict of files":
        return {"mask": temporary("mask.txt")}
    if what == "a generator":
        def make():
            for step in range(3):
                context.progress(step / 3)
                yield f"token {step}"
            yield temporary("last.txt")
        return make()
    if what == "without an end":
        return iter(int, 1)
    if what == "async":
        async def later():
            await asyncio.sleep(0)
            return "later"
        return later()
    if what == "an async generator":
        async def make():
            yield 1
            await asyncio.sleep(0)
            yield 2
        return make()
    if what == "no output":
        return object()
    if what == "no file":
        return Path("missing.png")
    if what == "an exception":
        raise ValueError("no such style")
    if what == "for good":
        raise RunFailed("wrong", retryable=False)
`;

describe.skipIf(python === undefined)('a function in Python', () => {
  it('gets its inputs as its annotations say', async () => {
    const inputs = {
      prompt: 'a cat',
      steps: '9007199254740993',
      scale: 2,
      fast: true,
      seed: null,
      style: 'drawing',
      size: 2,
      tags: ['a'],
      boxes: [[1, 2], [3]],
      options: { a: 1 },
      image: 'cat.txt',
      images: ['images/1.txt', 'images/2.txt'],
      rate: 3.0,
      either: 'x',
      anything: [1],
      bare: 'y',
    };
    const inputFiles = { 'cat.txt': 'miaow', 'images/1.txt': 'one', 'images/2.txt': 'two' };
    const { ran, log } = await runHarness('predict.py:predict', { 'predict.py': TYPES }, [
      { inputs, inputFiles },
      { inputs: { prompt: 'a dog' } },
    ]);
    const [all, few] = ran.map(({ outputs, result }) => ({ values: outputs[0]?.[1], result }));
    expect(all?.result).toMatchObject(done);
    const steps = expect.any(Number);
    const image = [true, 'miaow'];
    expect(all?.values).toEqual([{ ...inputs, steps, size: 'large', image, images: ['one', 'two'] }]);
    expect(log).toContain("'scale': 'float'");
    expect(log).toMatch(/'seed': 'NoneType'.*'rate': 'int', 'either': 'str'/);
    expect(few?.result).toMatchObject(done);
    expect(few?.values).toMatchObject([{ prompt: 'a dog', steps: 20, size: 'small', image: null }]);
  });

  it('is not called with inputs that it does not take', async () => {
    const wrong: [Record<string, unknown>, string][] = [
      [{}, 'predict.py:predict needs the input prompt, which the run does not have'],
      [{ prompt: 'x', promt: 'x', z: 1 }, 'takes no input of the name promt, z. It takes prompt, steps'],
      [{ prompt: 1 }, 'The input prompt of predict.py:predict must be a text, and is a whole number'],
      [{ prompt: 'x', steps: 1.5 }, 'must be a whole number, and is a number'],
      [{ prompt: 'x', steps: true }, 'must be a whole number, and is true or false'],
      [{ prompt: 'x', style: 'oil' }, 'must be one of "photo", "drawing", and is a text'],
      [{ prompt: 'x', size: 3 }, 'must be one of 1, 2, and'],
      [{ prompt: 'x', tags: 'a' }, 'must be a list, and is a text'],
      [{ prompt: 'x', boxes: [['a']] }, 'must be a whole number, and'],
      [{ prompt: 'x', image: '/etc/passwd' }, 'must be a file of the run'],
      [{ prompt: 'x', image: '../outside.txt' }, 'must be a file of the run'],
    ];
    const runs = wrong.map(([inputs]) => ({ inputs, inputFiles: { '../outside.txt': 'secret' } }));
    const { ran } = await runHarness('predict.py:predict', { 'predict.py': TYPES }, runs);
    expect(ran.map(({ result }) => result)).toMatchObject(wrong.map(([, message]) => failed(message)));
  });

  it('may be a predictor of Cog, without Cog: set up once', async () => {
    const run = { inputs: { image: 'a.txt', token: 's3cret' }, inputFiles: { 'a.txt': 'cat' } };
    const { ran, log } = await runHarness('predict.py:Predictor', { 'predict.py': PREDICTOR }, [
      run,
      run,
      {},
    ]);
    for (const { outputs, files } of ran.slice(0, 2)) {
      expect(files).toEqual({ 'made.txt': 'CAT20s3cret**********1None' });
      expect(outputs).toEqual([json({ seed: 7, picture: 'made.txt' })]);
    }
    expect(ran[2]?.result).toMatchObject(failed('needs the input image, token'));
    expect(log.match(/set up/g)).toHaveLength(1);
  });

  it('imports the Cog of its folder when that has one, and what lies beside it', async () => {
    const files = {
      'cog/__init__.py': 'Input = "another one"',
      'models/near.py': 'NEAR = "near"',
      'models/predict.py':
        'from cog import Input\nfrom .near import NEAR\nimport near\ndef predict(): return [Input, NEAR, near.NEAR]',
    };
    const { ran } = await runHarness('models/predict.py:predict', files, [{}]);
    expect(ran[0]?.outputs).toEqual([text('another one', 'near', 'near')]);
  });

  it('makes what it returns or yields the outputs of its run', async () => {
    const of = async (...whats: string[]) => {
      const files = { 'predict.py': OUTPUTS, 'kept.txt': 'kept' };
      const runs = whats.map((what) => ({ inputs: { what }, cancelled: what === 'without an end' }));
      return new Map(
        (await runHarness('predict.py:predict', files, runs)).ran.map((ran, at) => [whats[at], ran]),
      );
    };
    const ran = await of(
      'values',
      'texts',
      'none',
      'a list of lists',
      'files',
      'files',
      'a dict',
      'a dict of files',
      'a generator',
      'async',
      'an async generator',
      'without an end',
      'no output',
      'no file',
      'an exception',
      'for good',
    );
    expect(ran.get('values')?.outputs).toEqual([json('a text', 1, { k: 'A', n: 5 }, null)]);
    expect(ran.get('texts')?.outputs).toEqual([text('one', 'two')]);
    expect(ran.get('none')).toMatchObject({ outputs: [], files: {}, result: done });
    expect(ran.get('a list of lists')?.outputs).toEqual([json([1, 2], [3])]);
    expect(ran.get('files')).toMatchObject({ outputs: [], result: done });
    expect(ran.get('files')?.files).toEqual({
      'folder/mine.txt': 'mine',
      'same.txt': 'same.txt',
      'same-2.txt': 'same.txt',
      'kept.txt': 'kept',
      'output.bin': 'bytes',
      'output.png': 'a picture',
      'output-2.png': 'a picture',
    });
    expect(ran.get('a dict')?.outputs).toEqual([json({ mask: 'mask.txt', score: 0.5 })]);
    expect(ran.get('a dict of files')).toMatchObject({ outputs: [], files: { 'mask.txt': 'mask.txt' } });
    expect(ran.get('a generator')).toMatchObject({
      outputs: [text('token 0'), text('token 1'), text('token 2')],
      progress: [0, 1 / 3, 2 / 3],
      files: { 'last.txt': 'last.txt' },
    });
    expect(ran.get('async')?.outputs).toEqual([text('later')]);
    expect(ran.get('an async generator')?.outputs).toEqual([json(1), json(2)]);
    expect(ran.get('without an end')?.result).toMatchObject(failed('^cancelled$', true));
    expect(ran.get('no output')?.result).toMatchObject(failed('made a builtins.object, which is no output'));
    expect(ran.get('no file')?.result).toMatchObject(
      failed('returned the path missing.png, and there is no such file'),
    );
    expect(ran.get('an exception')?.result).toMatchObject(failed('^ValueError: no such style$', true));
    expect(ran.get('for good')?.result).toMatchObject(failed('^wrong$'));
  });

  it('stays loaded in an executor, and what it prints is the log of its run', async () => {
    const source = [
      'import os',
      'def predict(workload, context):',
      '    print("printed", workload)',
      '    (context.output_dir / "made.txt").write_text("made")',
      '    return str(os.getpid())',
    ];
    const { code, command } = writeHarness('predict.py:predict', { 'predict.py': source.join('\n') });
    const args = ['-c', 'cd "$0" && exec "$@"', code, ...command];
    const start = await openResidentProgram({ ...bareProgram(), command: '/bin/sh', args });
    const processes = new Set<unknown>();
    for (const nth of [0, 1]) {
      const { result, lines } = start(`run ${nth}`, { nth });
      const ran = await result;
      expect(ran).toMatchObject({ outcome: 'succeeded', files: [{ filename: 'made.txt' }] });
      expect(lines).toEqual([{ stream: 'stdout', line: `printed run ${nth}` }]);
      processes.add(ran.outcome === 'succeeded' && ran.data['text']?.[0]);
    }
    expect(processes.size).toBe(1);
  });

  it.each([
    [
      'predict.py:predict',
      'def other(): pass\nclass Model: pass',
      'predict.py has no `predict`. It has other, Model',
    ],
    [
      'predict.py:predict',
      'predict = 3',
      '`predict` in predict.py is no function, and no class with `predict`',
    ],
    ['predict.py:predict', 'import not_there', 'predict.py imports not_there, which is not installed'],
    [
      'missing.py:predict',
      '',
      'There is no file missing.py in the folder. Files for Python in it: predict.py',
    ],
    [
      'predict.py:predict',
      'def predict(x: "Unknown"): pass',
      'The annotation of x in predict.py:predict.*cannot be read',
    ],
  ])('that cannot be loaded says why (%s, %s)', async (run, predict, why) => {
    const { log, exitCode } = await runHarness(run, { 'predict.py': predict });
    expect(exitCode).toBe(1);
    expect(log).toMatch(new RegExp(why.replaceAll('.', '\\.').replaceAll('\\.*', '.*')));
  });
});

const SCRIPT = `
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
export async function predict({ what, seed }, context) {
  console.log('printed', what);
  if (what === 'values') return ['a text', String(seed), { a: 1 }];
  if (what === 'files') {
    const mine = join(context.outputDir, 'mine.txt');
    writeFileSync(mine, 'mine');
    return [pathToFileURL(mine), pathToFileURL(join(context.inputDir, 'in.txt')), Buffer.from('bytes')];
  }
  if (what === 'for good') throw Object.assign(new Error('wrong'), { retryable: false });
  if (what === 'an exception') throw new Error('no such style');
  if (what === 'no file') return new URL('file:///nowhere/x.png');
}
export async function* tokens(_inputs, context) {
  context.progress(0.5);
  yield 'one';
  yield { two: 2 };
}
export class Predictor {
  async setup() { this.loaded = 'loaded'; }
  predict({ what }) { return this.loaded + ' ' + what; }
}
`;

describe('a function in JavaScript', () => {
  it('makes what it returns the outputs of its run', async () => {
    const whats = ['values', 'files', 'nothing', 'for good', 'an exception', 'no file'];
    const runs = whats.map((what) => ({ inputs: { what, seed: 5 }, inputFiles: { 'in.txt': 'in' } }));
    const { ran, log } = await runHarness('predict.mjs:predict', { 'predict.mjs': SCRIPT }, runs);
    expect(ran).toMatchObject([
      { outputs: [json('a text', '5', { a: 1 })], result: done },
      { outputs: [], files: { 'mine.txt': 'mine', 'in.txt': 'in', 'output.bin': 'bytes' } },
      { outputs: [], files: {}, result: done },
      { result: failed('^wrong$') },
      { result: failed('^no such style$', true) },
      { result: failed('returned the file /nowhere/x.png, and there is none') },
    ]);
    expect(log).toContain('printed values');
  });

  it('may be a generator, or a class that is set up once', async () => {
    const files = { 'a.js': SCRIPT, 'package.json': '{"type": "module"}' };
    const [tokens, predictor] = await Promise.all([
      runHarness('a.js:tokens', files, [{}]),
      runHarness('a.js:Predictor', files, [{ inputs: { what: 'x' } }]),
    ]);
    expect(tokens.ran).toMatchObject([{ outputs: [text('one'), json({ two: 2 })], progress: [0.5] }]);
    expect(predictor.ran).toMatchObject([{ outputs: [text('loaded x')] }]);
  });

  it('that cannot be loaded says why', async () => {
    const { log, exitCode } = await runHarness('a.mjs:predict', { 'a.mjs': 'export const run = () => 1;' });
    expect([exitCode, log]).toEqual([
      1,
      expect.stringContaining('a.mjs exports no `predict`. It exports run'),
    ]);
  });
});
