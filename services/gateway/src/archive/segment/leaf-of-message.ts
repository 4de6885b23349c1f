import { hashOf } from '@runledger/event-log/append/previous-hash';
import { leafOf, type Hash } from '@runledger/event-log/archive/merkle';
import type { StoredMessage } from '@runledger/contracts/fold/chain';

/** Of a message as the log has it. */
export const leafOfMessage = (message: StoredMessage): Hash =>
  leafOf({ ...message, sha256: hashOf(message.data ?? new Uint8Array()) });
