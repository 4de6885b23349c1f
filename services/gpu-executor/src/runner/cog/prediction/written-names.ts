import { createHash } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { collectFiles, FILE_LIMITS, isWrittenSince, openUnchanged } from '../../../runners/output-files.ts';
import type { OutputFile } from '../../../runners/runner.ts';
import type { FileNames } from '../core/outputs.ts';

/**
 * The names of files by their content: a server says none of a file in an object, but its model has written it. The name is that of the only file in
 * the temporary folder of the server which has this content, and was written since the prediction was sent. There is none where files with the
 * content have different names, where several files of the output would have the same, and for an empty one. `outputs`: where the files lie.
 */
export const writtenNames = async (
  temporary: string | null,
  since: number,
  outputs: ReadonlyMap<number, string>,
): Promise<FileNames> => {
  if (temporary === null || outputs.size === 0) return new Map();
  const sizes = new Map<number, number>();
  for (const [number, path] of outputs) sizes.set(number, await sizeOf(path));
  const written = await namesByContent(temporary, since, [...sizes.values()]);
  if (written.size === 0) return new Map();
  const found = new Map<number, string>();
  for (const [number, path] of outputs) {
    await using output = await open(path);
    const [name, another] = written.get(await contentOf(output, sizes.get(number) ?? 0)) ?? [];
    if (name !== undefined && another === undefined) found.set(number, name);
  }
  const names = [...found.values()];
  return new Map([...found].filter(([, name]) => names.indexOf(name) === names.lastIndexOf(name)));
};

const LIMITS = { ...FILE_LIMITS, files: FILE_LIMITS.entries };
/** What is read beyond twice the output: any number of files may be as large as one of its files. */
const MAX_MORE_BYTES = 1024 ** 3;
/** What `tempfile` of Python makes up, as for the inputs of a prediction. */
const MADE_UP = /^tmp[a-z0-9_]{8}/;

/** None when there is more than is looked at. */
const namesByContent = async (
  folder: string,
  since: number,
  sizes: readonly number[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> => {
  const names = new Map<string, Set<string>>();
  const files = await writtenFiles(folder, since, new Set(sizes));
  const most = MAX_MORE_BYTES + 2 * sumOf(sizes);
  if (sumOf(files.map(({ bytes }) => bytes)) > most) return names;
  for (const file of files) {
    await using source = await openUnchanged(file);
    // What cannot be read has no name to give.
    const content = await (source && contentOf(source, file.bytes).catch(() => undefined));
    if (content !== undefined) names.set(content, (names.get(content) ?? new Set()).add(file.filename));
  }
  return names;
};

/** The files of these sizes with a name that somebody gave them. */
const writtenFiles = async (
  folder: string,
  since: number,
  sizes: ReadonlySet<number>,
): Promise<readonly OutputFile[]> => {
  const { files, tooMany } = await collectFiles(folder, LIMITS);
  const written: OutputFile[] = [];
  for (const file of tooMany === null ? files : []) {
    const { bytes, filename } = file;
    if (bytes === 0 || !sizes.has(bytes) || MADE_UP.test(filename)) continue;
    await using source = await openUnchanged(file);
    if (source && isWrittenSince(since, await source.stat())) written.push(file);
  }
  return written;
};

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);

const sizeOf = async (path: string): Promise<number> => {
  await using file = await open(path);
  return (await file.stat()).size;
};

/** The same for the same bytes, and for no others. */
const contentOf = async (file: FileHandle, bytes: number): Promise<string> => {
  if (bytes === 0) return '';
  const hash = createHash('sha256');
  for await (const chunk of file.createReadStream({ end: bytes - 1, autoClose: false }))
    hash.update(chunk as Uint8Array);
  return hash.digest('hex');
};
