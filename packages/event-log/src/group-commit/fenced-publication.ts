import type { Publication } from '../messages/publish.ts';

/** A message with a fence, and without what only a single message may have. */
export interface FencedPublication extends Pick<
  Publication,
  'stream' | 'subject' | 'data' | 'id' | 'traceparent'
> {
  readonly fence: NonNullable<Publication['fence']>;
}
