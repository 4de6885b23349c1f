import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { GpuModel } from '@runledger/contracts/gpu';
import { gpuModelOf } from './gpu-models.ts';

export interface DetectedGpu {
  index: number;
  uuid: string;
  name: string;
  model: GpuModel | null;
}

export type Detection =
  | { kind: 'found'; gpus: DetectedGpu[]; unreadable: string[] }
  /** There is no `nvidia-smi`, or it could not reach a driver. */
  | { kind: 'none'; why: string };

const COMMAND = 'nvidia-smi';
const GPU_QUERY = ['--query-gpu=index,uuid,name,memory.total', '--format=csv,noheader'];

export const detectGpus = async (): Promise<Detection> => {
  try {
    // A driver that hangs must not block the start.
    const { stdout } = await promisify(execFile)(COMMAND, GPU_QUERY, {
      timeout: 20_000,
      maxBuffer: 256 * 1024,
    });
    return { kind: 'found', ...parseGpuQuery(stdout) };
  } catch (error) {
    return { kind: 'none', why: whyNot(error) };
  }
};

/** Parses what the query above prints, one card a line: `0, GPU-6d40…, NVIDIA A10G, 23028 MiB`. */
export const parseGpuQuery = (text: string): { gpus: DetectedGpu[]; unreadable: string[] } => {
  const gpus: DetectedGpu[] = [];
  const unreadable: string[] = [];
  for (const line of text.split('\n').map((each) => each.trim())) {
    if (line === '') continue;
    const [, index, uuid, name, memory] = /^(\d{1,4}),\s*(GPU-[\w-]+),\s*([^,]+?),\s*(.+)$/.exec(line) ?? [];
    if (index === undefined || uuid === undefined || name === undefined || memory === undefined)
      unreadable.push(line);
    else gpus.push({ index: Number(index), uuid, name, model: gpuModelOf(name, memoryMiB(memory)) });
  }
  return { gpus, unreadable };
};

/** `[N/A]`, as on some virtual machines, counts as 0: then the name alone decides. */
const memoryMiB = (text: string): number => {
  const [, amount] = /^(\d+) MiB$/.exec(text) ?? [];
  return amount === undefined ? 0 : Number(amount);
};

const whyNot = (error: unknown): string => {
  if (!(error instanceof Error)) return `${COMMAND} failed`;
  if ('code' in error && error.code === 'ENOENT') return `there is no ${COMMAND} on PATH`;
  if ('killed' in error && error.killed === true) return `${COMMAND} did not respond within 20 s`;
  return `${COMMAND} failed: ${error.message.trim().slice(0, 500)}`;
};
