import { open } from 'node:fs/promises';

const MAX_BYTES = 4_096;
const MAX_LINES = 12;

export interface OutputTail {
  readonly add: (line: string) => void;
  /** The last few lines, joined by line ends. */
  readonly lines: () => string;
}

export const keepTail = (): OutputTail => {
  const kept: string[] = [];
  return {
    add: (line) => {
      kept.push(line);
      if (kept.length > MAX_LINES) kept.shift();
    },
    lines: () => lastLinesOf(kept.join('\n').slice(-MAX_BYTES)),
  };
};

/** The last few lines of a file; empty if it cannot be read. */
export const tailOfFile = async (path: string): Promise<string> => {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    const start = Math.max(0, size - MAX_BYTES);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(MAX_BYTES), position: start });
    return lastLinesOf(buffer.toString('utf8', 0, bytesRead));
  } catch {
    return '';
  }
};

const lastLinesOf = (text: string): string => text.trim().split('\n').slice(-MAX_LINES).join('\n');
