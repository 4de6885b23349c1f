import type { StoredMessage } from '@runledger/contracts/fold/chain';
import type { SliceFact } from '@runledger/contracts/slices/slice';

/** The message as readers of the log get it. */
export const messageOf = ({
  sequence,
  subject,
  time,
  fence,
  expected_sequence,
  event,
}: SliceFact): StoredMessage => ({
  sequence,
  subject,
  time,
  fence,
  expectedSequence: expected_sequence,
  body: event,
});
