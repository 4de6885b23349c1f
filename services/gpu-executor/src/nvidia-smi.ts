import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { type GpuModel, parseGpuModel } from '@runledger/contracts/gpu';

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

/**
 * The GPU model of a card, from its name and memory in `nvidia-smi`; null when the driver gives no usable name.
 * A card that the run API lists has the name there. Whole names are compared: an L40 is not an L4, a T400 not a T4, and a
 * virtual GPU (`A100-10C`) not an A100. Any other card is named after its product.
 */
export const gpuModelOf = (productName: string, memoryMiB: number): GpuModel | null => {
  const name = productName
    .trim()
    .replace(/^(?:NVIDIA|Tesla)\s+/i, '')
    .replace(/^Tesla\s+/i, '')
    .toUpperCase();
  if (name === 'T4' || name === 'T4G') return 'T4';
  // The A10G of AWS and the A10 elsewhere are the same chip with 24 GB.
  if (name === 'A10G' || name === 'A10') return 'A10G';
  if (/^A100(?:[- ](?:SXM\d?|PCIE|PG\d+))?(?:[- ](?:40|80)GB)?(?:[- ]PCIE)?$/.test(name))
    return has80GB(name, memoryMiB) ? 'A100-80GB' : 'A100';
  if (/^H100(?:[- ](?:SXM\d?|PCIE|NVL|HBM\d\w?|\d+GB))*$/.test(name)) return 'H100';
  return modelNamedAfter(name);
};

const has80GB = (name: string, memoryMiB: number): boolean =>
  name.includes('80GB') || (!name.includes('40GB') && memoryMiB > 60_000);

const LONGEST_MODEL = 40;

/**
 * `NVIDIA GeForce RTX 4090` is RTX4090, and `NVIDIA RTX 6000 Ada Generation` is RTX6000-ADA: in upper case, without the
 * words that tell no two cards apart, RTX and GTX joined with their number, and a hyphen for all other characters.
 */
const modelNamedAfter = (name: string): GpuModel | null => {
  // The driver writes [N/A] or [Unknown Error] for what it cannot read.
  if (name.startsWith('[')) return null;
  const model = name
    .replaceAll(/\b(?:GEFORCE|GENERATION|GPU)\b/g, ' ')
    .replaceAll(/\b([RG]TX)\s+(?=\d)/g, '$1')
    .replaceAll(/[^A-Z0-9._]+/g, '-')
    .replace(/^[^A-Z0-9]+/, '')
    .slice(0, LONGEST_MODEL)
    .replace(/[^A-Z0-9]+$/, '');
  return parseGpuModel(model) ?? null;
};
