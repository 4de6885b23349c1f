import { fenceOf, type Chain } from '@runledger/contracts/fold/chain';
import type { SliceFact } from '@runledger/contracts/slices/slice';
import { NewerFact } from './newer-fact.ts';

/** What of a chain says whether a message is one of its events. */
type EventsOf<Type extends string, Event> = Pick<
  Chain<Type, Event, never>,
  'filterOf' | 'keyOf' | 'parse' | 'belongsUnder' | 'latestVersion' | 'subjectOf'
>;

/**
 * The event of the chain in a message; undefined for a message that is none, or is forged. Whether it can follow is not asked, nor whether
 * an executor may use a later version. @throws {NewerFact} of a service
 */
export const eventIn = <Type extends string, Event>(
  chain: EventsOf<Type, Event>,
  { subject, fence, sequence, expected_sequence, event: body }: SliceFact,
): Event | undefined => {
  if (expected_sequence === null || fence === null || fence !== fenceOf(chain, subject)) return undefined;
  const parsed = chain.parse(body);
  if (parsed.kind === 'newer_version' && chain.belongsUnder(parsed.type, subject)) {
    if (parsed.version > chain.latestVersion(undefined, subject, parsed.type)) return undefined;
    throw new NewerFact({ ...parsed, sequence });
  }
  return parsed.kind === 'event' && chain.subjectOf(parsed.event) === subject ? parsed.event : undefined;
};
