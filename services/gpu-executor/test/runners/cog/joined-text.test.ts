import { describe, expect, it } from 'vitest';
import {
  joinedText,
  readReference,
  referenceInCogYaml,
  schemaJoins,
  sourceJoins,
  fileMark,
} from '../../../src/runners/cog/split-answer.decide.ts';

const NONCE = 'n0nce';

describe('the pieces of a text', () => {
  it('are joined as they are', () => {
    expect(joinedText(['a ', '', 'b\n', '\u{1F98A}'], NONCE)).toBe('a b\n\u{1F98A}');
    expect(joinedText([], NONCE)).toBe('');
  });

  it.each([['a text'], [null], [{ a: 'b' }], [['a', 1]], [['a', fileMark(NONCE, 0)]]])(
    '%j is none of them',
    (output) => expect(joinedText(output, NONCE)).toBeNull(),
  );
});

describe('the schema of a model', () => {
  const documentOf = (Output: unknown): object => ({ components: { schemas: { Output } } });
  it.each([
    [
      documentOf({ type: 'array', 'x-cog-array-type': 'iterator', 'x-cog-array-display': 'concatenate' }),
      true,
    ],
    [documentOf({ type: 'array', 'x-cog-array-type': 'iterator' }), false],
    [documentOf({ type: 'string' }), false],
    [{ error: 'OpenAPI schema not available' }, null],
    [{ components: [] }, null],
    [undefined, null],
  ])('%j says %j', (document, says) => expect(schemaJoins(document)).toBe(says));
});

const model = (predict: string, before = ''): string =>
  `from cog import BasePredictor, ConcatenateIterator\n${before}\nclass Predictor(BasePredictor):\n    def setup(self) -> None:\n        pass\n\n${predict}\n`;

describe('the source of a model', () => {
  it.each([
    ['    def predict(self, n: int = 1) -> ConcatenateIterator[str]:\n        yield "a"'],
    ['    def run(self) -> cog.ConcatenateIterator:\n        yield "a"'],
    ['    async def predict(self) -> AsyncConcatenateIterator[str]:\n        yield "a"'],
    [
      '    def predict(\n        self,\n        text: str = Input(description="by default (none)"),\n    ) -> "ConcatenateIterator[str]":\n        yield "a"',
    ],
  ])('gives a text in pieces: %s', (predict) => expect(sourceJoins(model(predict), 'Predictor')).toBe(true));

  it.each([
    ['    def predict(self) -> Iterator[str]:\n        yield "a"'],
    ['    def predict(self) -> str:\n        return "a"'],
    [
      '    def predict(self):\n        return "a"\n\n    def other(self) -> ConcatenateIterator[str]:\n        yield "a"',
    ],
    [
      '    # def predict(self) -> ConcatenateIterator[str]:\n    def predict(self) -> list[str]:\n        return []',
    ],
    [
      '    def predict(self) -> str:\n        return ""\n\nclass Other:\n    def predict(self) -> ConcatenateIterator[str]:\n        yield "a"',
    ],
  ])('gives something else: %s', (predict) => expect(sourceJoins(model(predict), 'Predictor')).toBe(false));

  it('is a function, too', () => {
    const source =
      'def train() -> int:\n    return 1\n\ndef predict(n: int) -> ConcatenateIterator[str]:\n    yield "a"\n';
    expect([sourceJoins(source, 'predict'), sourceJoins(source, 'train')]).toEqual([true, false]);
  });

  it('is where the command, or cog.yaml, says', () => {
    const reference = { file: 'src/predict.py', name: 'Predictor' };
    expect(readReference('src/predict.py:Predictor')).toEqual(reference);
    expect(referenceInCogYaml('build:\n  gpu: true\npredict: "src/predict.py:Predictor" # it\n')).toEqual(
      reference,
    );
    expect(referenceInCogYaml("run: 'src/predict.py:Predictor'\n")).toEqual(reference);
    expect([readReference('predict.py'), referenceInCogYaml('build: {}\n'), referenceInCogYaml('')]).toEqual([
      null,
      null,
      null,
    ]);
  });
});
