import type { Chain, StoredMessage } from '@runledger/contracts/fold/chain';
import type { RunKey } from '@runledger/contracts/subjects/run-subjects';

/** The messages that are in this chain. */
export const partOf = (
  chain: Pick<Chain<never, never, never>, 'filterOf'>,
  key: RunKey,
  messages: readonly StoredMessage[],
): StoredMessage[] => {
  const prefix = chain.filterOf(key).slice(0, -1);
  return messages.filter(({ subject }) => subject.startsWith(prefix));
};
