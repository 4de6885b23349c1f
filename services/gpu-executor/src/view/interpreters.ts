import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { basename, delimiter, isAbsolute, join } from 'node:path';

/** What the kernel starts in the place of the file: the interpreter of a `#!` line with what `env` finds for it, or the loader of a binary. */
export const interpretersOf = (file: string, path: string): readonly string[] => {
  const head = headOf(file);
  if (isBinary(head)) return loaderIn(head);
  const [, interpreter, rest = ''] = /^#![ \t]*(\S+)[ \t]*(.*)/.exec(head.toString('latin1')) ?? [];
  if (interpreter === undefined || !isAbsolute(interpreter)) return [];
  if (basename(interpreter) !== 'env') return [interpreter];
  const name = rest
    .replace(/^-S|^--split-string=/, '')
    .split(/\s+/)
    .find((word) => word !== '' && !word.startsWith('-') && !word.includes('='));
  if (name === undefined) return [interpreter];
  const candidates = isAbsolute(name) ? [name] : path.split(delimiter).map((folder) => join(folder, name));
  const found = candidates.find((candidate) => isAbsolute(candidate) && isFile(candidate));
  return found === undefined ? [interpreter] : [interpreter, found];
};

/** Whether it is a binary, or has a `#!` line. */
export const startsAsProgram = (file: string): boolean => {
  const head = headOf(file);
  return isBinary(head) || head.toString('latin1', 0, 2) === '#!';
};

export const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;

/** The headers of a binary and the name of its loader are here, and a `#!` line is shorter. */
const HEAD_BYTES = 4096;

const headOf = (file: string): Buffer => {
  const head = Buffer.alloc(HEAD_BYTES);
  try {
    if (!isFile(file)) return head.subarray(0, 0);
    const descriptor = openSync(file, 'r');
    const length = readSync(descriptor, head, 0, HEAD_BYTES, 0);
    closeSync(descriptor);
    return head.subarray(0, length);
  } catch {
    return head.subarray(0, 0);
  }
};

const isBinary = (head: Buffer): boolean => head.toString('latin1', 0, 4) === '\u007FELF';

/** Of elf.h, for 64 bits. */
const PROGRAM_HEADER_BYTES = 56;
const INTERPRETER_HEADER = 3;

const loaderIn = (head: Buffer): readonly string[] => {
  try {
    const first = Number(head.readBigUInt64LE(32));
    for (let index = 0; index < head.readUInt16LE(56); index++) {
      const header = head.subarray(first + index * PROGRAM_HEADER_BYTES);
      if (header.readUInt32LE(0) !== INTERPRETER_HEADER) continue;
      const start = Number(header.readBigUInt64LE(8));
      // It ends with a zero.
      const loader = head.toString('utf8', start, start + Number(header.readBigUInt64LE(32)) - 1);
      return isAbsolute(loader) ? [loader] : [];
    }
  } catch {
    // It is damaged, or of 32 bits, or has more headers than most.
  }
  return [];
};
