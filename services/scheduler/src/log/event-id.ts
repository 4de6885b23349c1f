import type { StoredMessage } from '@runledger/contracts/fold/chain';

/** The id of a stored event; null for a message without one. */
export const eventIdOf = ({ body }: StoredMessage): string | null =>
  typeof body === 'object' && body !== null && 'event_id' in body && typeof body.event_id === 'string'
    ? body.event_id
    : null;
