import { randomBytes } from 'node:crypto';
import { executorId, type ExecutorId } from '@runledger/contracts/ids';

/** `<name>-<boot id>`: new with every start, since what the last one held is lost to it. */
export const newExecutorId = (
  name: string,
  random: (size: number) => Uint8Array = randomBytes,
): ExecutorId => {
  const boot = Buffer.from(random(6)).toString('hex');
  const slug = name
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 63 - boot.length);
  return executorId(`${slug === '' ? 'executor' : slug}-${boot}`);
};
