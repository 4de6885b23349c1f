import { linkSync, mkdirSync, statSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writtenNames } from '../../../src/runners/cog/prediction-result.ts';
import { temporaryFolder } from '../program/run-a-program.ts';

const write = (root: string, files: Readonly<Record<string, string>>): void => {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), content);
  }
};

/** The names of files with these contents. */
const namesOf = async (
  temporary: string | null,
  contents: readonly string[],
  since = 0,
): Promise<(string | undefined)[]> => {
  const folder = temporaryFolder();
  write(folder, Object.fromEntries(contents.map((content, number) => [String(number), content])));
  const numbers = [...contents.keys()];
  const names = await writtenNames(
    temporary,
    since,
    new Map(numbers.map((number) => [number, join(folder, String(number))])),
  );
  return numbers.map((number) => names.get(number));
};

describe('the names that a model gave files', () => {
  it.each([
    [
      'by their content',
      { 'tmp1/lora.safetensors': 'one', 'a/b/c.npz': 'two' },
      ['lora.safetensors', 'c.npz'],
    ],
    ['not of one that is as large', { 'lora.safetensors': 'abc', 'c.npz': 'two' }, [undefined, 'c.npz']],
    ['not of several with the content', { a: 'one', 'x/b': 'one', c: 'two' }, [undefined, 'c']],
    ['of two with the same name', { 'x/a': 'one', 'y/a': 'one', c: 'two' }, ['a', 'c']],
    ['not when it would be that of both', { 'x/a': 'one', 'y/a': 'two' }, [undefined, undefined]],
    [
      'not those that Python makes up',
      { tmpab1_9xyz: 'one', 'tmpab1_9xyzin.png': 'two', c: 'two' },
      [undefined, 'c'],
    ],
  ])('are known %s', async (_which, files, names) => {
    const temporary = temporaryFolder();
    write(temporary, files);
    expect(await namesOf(temporary, ['one', 'two'])).toEqual(names);
  });

  it('are not known of a content that the output has twice', async () => {
    const temporary = temporaryFolder();
    write(temporary, { a: 'one', c: 'two' });
    expect(await namesOf(temporary, ['one', 'one', 'two'])).toEqual([undefined, undefined, 'c']);
  });

  it('are not known of an empty file', async () => {
    const temporary = temporaryFolder();
    write(temporary, { lock: '' });
    expect(await namesOf(temporary, [''])).toEqual([undefined]);
  });

  it('are not those of links, to files or to folders', async () => {
    const [temporary, elsewhere] = [temporaryFolder(), temporaryFolder()];
    write(elsewhere, { 'a.npz': 'one' });
    symlinkSync(join(elsewhere, 'a.npz'), join(temporary, 'b.npz'));
    symlinkSync(elsewhere, join(temporary, 'folder'));
    expect(await namesOf(temporary, ['one'])).toEqual([undefined]);
    linkSync(join(elsewhere, 'a.npz'), join(temporary, 'own.npz'));
    expect(await namesOf(temporary, ['one'])).toEqual(['own.npz']);
  });

  it('are not those of files from before the prediction', async () => {
    const temporary = temporaryFolder();
    write(temporary, { 'a.npz': 'one' });
    const { ctimeMs } = statSync(join(temporary, 'a.npz'));
    expect(await namesOf(temporary, ['one'], ctimeMs + 1_000)).toEqual([undefined]);
    expect(await namesOf(temporary, ['one'], ctimeMs)).toEqual(['a.npz']);
  });

  it('are not looked for among too many files', async () => {
    const temporary = temporaryFolder();
    write(temporary, { 'a.npz': 'one' });
    for (let number = 1; number < 10_000; number += 1) symlinkSync('none', join(temporary, String(number)));
    expect(await namesOf(temporary, ['one'])).toEqual(['a.npz']);
    symlinkSync('none', join(temporary, '10000'));
    expect(await namesOf(temporary, ['one'])).toEqual([undefined]);
  });

  it('are not looked for among many more bytes than the output has', async () => {
    const [temporary, folder] = [temporaryFolder(), temporaryFolder()];
    const paths = Array.from({ length: 19 }, (_, number) => join(String(number), 'a.npz'));
    write(temporary, Object.fromEntries(paths.map((path) => [path, ''])));
    write(folder, { '0': '' });
    const output = join(folder, '0');
    for (const path of [output, ...paths.map((each) => join(temporary, each))])
      truncateSync(path, 64 * 1024 ** 2);
    expect(await writtenNames(temporary, 0, new Map([[0, output]]))).toEqual(new Map());
  });

  it('are not known of a server that runs anyway', async () => {
    expect(await namesOf(null, ['one'])).toEqual([undefined]);
  });
});
