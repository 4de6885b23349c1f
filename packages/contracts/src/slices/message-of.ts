import type { StoredMessage } from '../fold/chain.ts';
import type { SliceFact } from './slice.ts';

/** The message of a slice as readers of the log get it. */
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
