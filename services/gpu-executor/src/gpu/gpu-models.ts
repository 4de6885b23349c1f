import type { GpuModel } from '@runledger/contracts/gpu';

/**
 * The GPU model of a card, from its name and memory in `nvidia-smi`; null when the API has no such model.
 * Whole names are compared: an L40 is not an L4, a T400 not a T4, and a virtual GPU (`A100-10C`) not an A100.
 */
export const gpuModelOf = (productName: string, memoryMiB: number): GpuModel | null => {
  const name = productName
    .trim()
    .replace(/^(?:NVIDIA|Tesla)\s+/i, '')
    .replace(/^Tesla\s+/i, '')
    .toUpperCase();
  if (name === 'T4' || name === 'T4G') return 'T4';
  if (name === 'L4') return 'L4';
  if (name === 'L40S') return 'L40S';
  // The A10G of AWS and the A10 elsewhere are the same chip with 24 GB.
  if (name === 'A10G' || name === 'A10') return 'A10G';
  if (/^A100(?:[- ](?:SXM\d?|PCIE|PG\d+))?(?:[- ](?:40|80)GB)?(?:[- ]PCIE)?$/.test(name))
    return has80GB(name, memoryMiB) ? 'A100-80GB' : 'A100';
  if (/^H100(?:[- ](?:SXM\d?|PCIE|NVL|HBM\d\w?|\d+GB))*$/.test(name)) return 'H100';
  return null;
};

const has80GB = (name: string, memoryMiB: number): boolean =>
  name.includes('80GB') || (!name.includes('40GB') && memoryMiB > 60_000);
