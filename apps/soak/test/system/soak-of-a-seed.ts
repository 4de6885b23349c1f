import { readOptions } from '../../src/options.ts';
import type { Size } from '../../src/size.ts';
import { soak, type SoakResult } from '../../src/soak.ts';

const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** Runs a soak and prints its report. */
export const soakOfSeed = async (seed: number, args: readonly string[]): Promise<SoakResult> => {
  const read = readOptions(args, () => seed);
  if (!read.ok) throw new Error(read.why);
  print(`Seed ${seed}. Repeat it with: ${read.options.command}`);
  const interrupted = new AbortController().signal;
  const result = await soak(read.options, { env: process.env, print, interrupted });
  print(result.report);
  return result;
};

/** A soak usually takes its minutes and one more. The rest is for a busy machine. */
export const withinMsOf = ({ minutes, settleWithinMs }: Size): number =>
  minutes * 60_000 + settleWithinMs * 3 + 180_000;
