import { arch } from 'node:process';
import { join } from 'node:path';
import { describe, it } from 'vitest';
import { EXAMPLES, expectTwice, localEnvironment } from '../fixtures/local-folders.ts';

const env = localEnvironment();
const text = (value: string): object => ({ data: { text: [value] } });

/** For x64 the index has PyTorch with its libraries for cards only: 3 GB, which are fetched and compiled. */
const TORCH_WITHIN_MS = arch === 'x64' ? 1_800_000 : 600_000;

describe('a folder of the examples with packages of the index', () => {
  it.each<readonly [string, readonly string[], object]>([
    ['requirements', ['text=raiders_of_the_lost_ark'], text('Raiders Of The Lost Ark')],
    ['lock', ['text=raiders_of_the_lost_ark'], text('Raiders Of The Lost Ark')],
    ['onnx', ['a=1.5', 'b=2'], text('3.5')],
    ['torch', ['a=1.5', 'b=2'], text('3.5 0')],
  ])(
    '%s runs here, and again without being prepared',
    (name, inputs, expected) => expectTwice({ folder: join(EXAMPLES, name), inputs, env }, expected),
    TORCH_WITHIN_MS,
  );
});
