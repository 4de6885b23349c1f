import { executorName, type ExecutorId } from '@runledger/contracts/ids';
import type { Fleet } from './fleet.ts';
import type { FormerExecutors } from './former-executors.ts';

/**
 * The executors that may begin what is assigned to them: those that are registered, and those that were declared lost, unless another process
 * of their name has registered. That one has their consumer, and one that left begins nothing more.
 */
export const mayBegin = ({ executors }: Fleet, former: FormerExecutors): ExecutorId[] => {
  const registered = [...executors.keys()];
  const names = new Set(registered.map((id) => executorName(id)));
  const lost = [...former.lost()].filter((id) => !names.has(executorName(id)));
  return [...registered, ...lost];
};
