import { parseGpuModel, type GpuModel } from '@runledger/contracts/gpu';

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
