import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';

const KEPT_BYTES = 4_096;

/** Reads streams to their end and remembers the last few lines. */
export const tailOf = (...streams: readonly Readable[]): (() => string) => {
  let kept = '';
  for (const stream of streams) {
    stream.setEncoding('utf8');
    stream.on('data', (text: string) => {
      kept = (kept + text).slice(-KEPT_BYTES);
    });
  }
  return () => lastLinesOf(kept);
};

/** The last few lines of a file; empty when it cannot be read. */
export const tailOfFile = async (path: string): Promise<string> => {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    const start = Math.max(0, size - KEPT_BYTES);
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(KEPT_BYTES), position: start });
    return lastLinesOf(buffer.toString('utf8', 0, bytesRead));
  } catch {
    return '';
  }
};

const lastLinesOf = (text: string): string => text.trim().split('\n').slice(-12).join('\n');
