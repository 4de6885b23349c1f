import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { findPython } from '@runledger/local-servers/python';
import { describe, expect, it } from 'vitest';
import { SIGNATURE_SCRIPT } from '../../src/folder/signature-script.ts';

const python = await findPython(process.env, { oldest: [3, 9], newest: [3, 14] });

/** What the script answers, as the client starts it. */
const readSignature = async (source: string, name = 'predict'): Promise<unknown> => {
  const child = spawn(python?.path ?? '', ['-I', '-c', SIGNATURE_SCRIPT], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  child.stdin.end(JSON.stringify({ source, function: name }));
  return JSON.parse(await text(child.stdout));
};

const IMPORTS = `
import enum
from enum import Enum
import pathlib
import numpy as np
from pathlib import Path
from typing import *
from cog import Input, Path as CogPath, Secret
from pydantic import Field, BaseModel
`;

/** Of one function with all of these parameters, by their names. */
const inputsOf = async (
  parameters: readonly string[],
  before = '',
): Promise<Readonly<Record<string, unknown>>> => {
  const source = `${IMPORTS}${before}\ndef predict(\n${parameters.join(',\n')}\n): pass\n`;
  const answer = await readSignature(source);
  expect(answer).not.toHaveProperty('error');
  const { inputs } = answer as { inputs: { name: string }[] };
  return Object.fromEntries(inputs.map(({ name, ...rest }) => [name, rest]));
};

const optional = { required: false };
const required = { required: true };

const DEFINITIONS = `
class Size(str, Enum):
    small = "s"
    large = "l"
class Level(enum.IntEnum):
    low = 1
    high = 2
class Box(BaseModel):
    x: int
Style = Literal["photo", "drawing"]
WIDTH = 512
MODELS = {"a": object(), "b": object()}
NAMES = ["x", "y"]
for index in range(3):
    pass
CHANGED = 1
CHANGED = 2
`;

const KNOWN: readonly (readonly [parameter: string, definition: object | undefined])[] = [
  ['a0', { type: 'string', ...required }],
  ['a1: str', { type: 'string', ...required }],
  ['a2: int', { type: 'integer', ...required }],
  ['a3: float', { type: 'number', ...required }],
  ['a4: bool', { type: 'boolean', ...required }],
  ['a5: list', { type: 'array', ...required }],
  ['a6: List[int]', { type: 'array', ...required }],
  ['a7: dict', undefined],
  ['a8: Dict[str, int]', undefined],
  ['a9: Box', undefined],
  ['a10: Path', { type: 'file', ...required }],
  ['a11: pathlib.Path', { type: 'file', ...required }],
  ['a12: CogPath', { type: 'file', ...required }],
  ['a13: list[Path]', { type: 'file[]', ...required }],
  ['a14: Optional[int]', { type: 'integer', ...optional }],
  ['a15: int | None', { type: 'integer', ...optional }],
  ['a16: Union[None, Path]', { type: 'file', ...optional }],
  ['a17: Union[int, float]', { type: 'number', ...required }],
  ['a18: "Optional[str]"', { type: 'string', ...optional }],
  ['a19: Literal["a", "b"]', { type: 'string', ...required, enum: ['a', 'b'] }],
  ['a20: Optional[Literal[1, 2]]', { type: 'integer', ...optional, enum: [1, 2] }],
  ['a21: Style', { type: 'string', ...required, enum: ['photo', 'drawing'] }],
  ['a22: Size', { type: 'string', ...required, enum: ['s', 'l'] }],
  ['a23: Secret', { type: 'string', ...required, secret: true }],
  ['a24: Annotated[int, Field(ge=1, le=50)]', { type: 'integer', ...required, minimum: 1, maximum: 50 }],
  ['a25: Annotated[str, "What it shows."]', { type: 'string', ...required, description: 'What it shows.' }],
  ['a26: Annotated[int, Gt(0)]', { type: 'integer', ...required, minimum: 1 }],
];
const WITH_DEFAULTS: typeof KNOWN = [
  ['b0="x"', { type: 'string', ...optional, default: 'x' }],
  ['b1=1', { type: 'integer', ...optional, default: 1 }],
  ['b2=-1.5', { type: 'number', ...optional, default: -1.5 }],
  ['b3=True', { type: 'boolean', ...optional, default: true }],
  ['b4=[1, "a"]', { type: 'array', ...optional, default: [1, 'a'] }],
  ['b5=None', { type: 'string', ...optional }],
  ['b6: int = None', { type: 'integer', ...optional }],
  ['b7: float = 2', { type: 'number', ...optional, default: 2 }],
  ['b8: int = 2**31 - 1', { type: 'integer', ...optional, default: 2 ** 31 - 1 }],
  ['b9: int = 2**64', { type: 'integer', ...optional, default: '18446744073709551616' }],
  ['b10: int = WIDTH', { type: 'integer', ...optional, default: 512 }],
  ['b11: Size = Size.small', { type: 'string', ...optional, enum: ['s', 'l'], default: 's' }],
  ['b12: Level = Level.high', { type: 'integer', ...optional, enum: [1, 2], default: 2 }],
  // The function has its own default, which a definition cannot show.
  ['b13: str = os.environ.get("X", "y")', { type: 'string', ...optional }],
  ['b14: int = CHANGED', { type: 'integer', ...optional }],
  ['b15: Path = Path("example.png")', { type: 'file', ...optional }],
  ['b16: Path = "example.png"', { type: 'file', ...optional }],
  ['b17: list[Path] = []', { type: 'file[]', ...optional, default: [] }],
  ['b18: dict = {}', undefined],
  ['b19: Secret = None', { type: 'string', ...optional, secret: true }],
  ['context=None', undefined],
  [
    'c0: int = Input(description="How  many", default=20, ge=1, le=2**32 - 1)',
    {
      type: 'integer',
      ...optional,
      default: 20,
      minimum: 1,
      maximum: 2 ** 32 - 1,
      description: 'How many',
    },
  ],
  ['c1: str = Input(description="What")', { type: 'string', ...required, description: 'What' }],
  [
    'c2: str = Input(default="a", choices=list(MODELS.keys()))',
    { type: 'string', ...optional, default: 'a', enum: ['a', 'b'] },
  ],
  ['c3: str = Input(choices=NAMES)', { type: 'string', ...required, enum: ['x', 'y'] }],
  [
    'c4: CogPath = Input(description="A picture", default=None)',
    { type: 'file', ...optional, description: 'A picture' },
  ],
  [
    'c5: float = Input(default=7.5, ge=0, le=20)',
    { type: 'number', ...optional, default: 7.5, minimum: 0, maximum: 20 },
  ],
  [
    'c6: Optional[CogPath] = Input(description="A mask")',
    { type: 'file', ...optional, description: 'A mask' },
  ],
  [
    'c7: int = Input(default=1, choices=[1, 2, 4])',
    { type: 'integer', ...optional, default: 1, enum: [1, 2, 4] },
  ],
  [
    'c8: List[str] = Field(default=[], max_length=3)',
    { type: 'array', ...optional, default: [], max_items: 3 },
  ],
  ['*args', undefined],
  ['d0: int = 1', { type: 'integer', ...optional, default: 1 }],
  ['**kwargs', undefined],
];

describe.skipIf(python === undefined)('the inputs of a function', () => {
  it('are what its annotations and defaults say', async () => {
    const parameters = [...KNOWN, ...WITH_DEFAULTS];
    const found = await inputsOf(
      parameters.map(([parameter]) => parameter),
      DEFINITIONS,
    );
    const expected = parameters.flatMap(([parameter, definition]) =>
      definition === undefined ? [] : [[/^\w+/.exec(parameter)?.[0] ?? '', definition] as const],
    );
    expect(found).toEqual(Object.fromEntries(expected));
  });

  it('have the descriptions of its docstring', async () => {
    const google = `
def predict(prompt: str, steps: int = 3, other=1):
    """Makes a picture.

    Args:
        prompt (str): What it shows,
            in words: all of them.
        steps: How many: the more, the slower.
    Returns:
        other: A picture.
    """
`;
    const sphinx = `
async def predict(prompt: str, steps: int = 3, context: str = ""):
    """:param prompt: What it shows,
        in words.
    :param int steps: How many.
    :returns: A picture."""
`;
    const described = async (source: string) =>
      ((await readSignature(source)) as { inputs: { name: string; description?: string }[] }).inputs.map(
        ({ name, description }) => [name, description],
      );
    expect(await described(google)).toEqual([
      ['prompt', 'What it shows, in words: all of them.'],
      ['steps', 'How many: the more, the slower.'],
      ['other', undefined],
    ]);
    expect(await described(sphinx)).toEqual([
      ['prompt', 'What it shows, in words.'],
      ['steps', 'How many.'],
      ['context', undefined],
    ]);
  });

  it('are those of the predict of a class, also one that it inherits', async () => {
    const source = `
from cog import BasePredictor, Input
try:
    class Base(BasePredictor):
        def setup(self, weights=None): pass
        @torch.inference_mode()
        def predict(self, prompt: str = Input(description="What")) -> str: pass
except ImportError:
    pass
class Predictor(Base):
    pass
class Static:
    @staticmethod
    def predict(prompt: str): pass
`;
    const prompt = { name: 'prompt', type: 'string', required: true };
    expect(await readSignature(source, 'Predictor')).toEqual({
      inputs: [{ ...prompt, description: 'What' }],
    });
    expect(await readSignature(source, 'Static')).toEqual({ inputs: [prompt] });
  });

  it.each([
    [
      'def predict(\n  image: np.ndarray): pass',
      2,
      'The annotation `np.ndarray` of image is not known as that of an input. Write str, int',
    ],
    [
      'def predict(x: Union[str, int]): pass',
      1,
      'x may be of several types, `Union[str, int]`: an input has one',
    ],
    [
      'def predict(x=now()): pass',
      1,
      'x has no annotation, and a default that is no literal. Write its type, as in `x: int = …`',
    ],
    ['def predict(x: int = 1.5): pass', 1, 'The default of x is not of its type, which is integer'],
    ['def predict(x: int = Input(default=9, le=5)): pass', 1, 'The default of x is beyond its bounds'],
    ['def predict(x: Literal["a"] = "b"): pass', 1, 'The default of x is none of its values'],
    ['def predict(x: Literal["a", 1]): pass', 1, 'The values of x must be texts only, or numbers only'],
    [
      'def predict(x: str = Input(choices=load())): pass',
      1,
      '`choices` of x is known only when the file runs: `load()`',
    ],
    ['def predict(x: int = Input(ge=LOW)): pass', 1, '`ge` of x is known only when the file runs: `LOW`'],
    ['def predict(x: "a b"): pass', 1, "The annotation 'a b' is no expression of Python"],
    ['class predict: pass', 1, 'The class predict has no method `predict`'],
    ['\nfrom model import predict', null, '`predict` is not defined in this file by `def` or `class`'],
    ['predict = make()', 1, '`predict` is not defined in this file'],
    ['def other(): pass\nclass Model: pass', null, 'The file has no `predict`. It has other, Model'],
    ['def predict(:', 1, 'The file is not valid for Python 3'],
    [`predict = ${'('.repeat(5_000)}`, expect.anything(), 'The file'],
  ])('that cannot be read are an error with its line: %s', async (source, line, why) => {
    expect(await readSignature(source)).toEqual({ error: expect.stringContaining(why), line });
  });

  it('are read from a file that is never executed', async () => {
    const source = 'raise SystemExit(3)\nimport nowhere\ndef predict(x: int): nowhere.go()';
    expect(await readSignature(source)).toEqual({ inputs: [{ name: 'x', type: 'integer', required: true }] });
  });
});
