import { randomBytes } from 'node:crypto';
import { executorId, executorToken, type ExecutorId } from '@runledger/contracts/ids';

/** `<name>.<boot id>`: new with every start, because a new process cannot continue the runs of the previous one. */
export const newExecutorId = (name: string, random: (size: number) => Uint8Array = randomBytes): ExecutorId =>
  executorId(`${executorToken(name)}.${Buffer.from(random(6)).toString('hex')}`);
