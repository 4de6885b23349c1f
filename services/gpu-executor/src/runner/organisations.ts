import { MAX_DEDICATED_TO, type ExecutorRegistered } from '@runledger/contracts/events/fleet-event';
import { isOrgId } from '@runledger/contracts/ids';

/** Those that may use what an entry of a setting names; null for all. */
export type Organisations = readonly string[] | null;

/** The `organisations` of an entry, or what is wrong with them, after the name of the thing. */
export const readOrganisations = ({
  organisations = null,
}: Readonly<Record<string, unknown>>): Organisations | string => {
  if (organisations === null) return null;
  const isList = Array.isArray(organisations) && organisations.length <= MAX_DEDICATED_TO;
  return isList && organisations.every((id) => typeof id === 'string' && isOrgId(id))
    ? organisations
    : `whose organisations are not a list of at most ${MAX_DEDICATED_TO} ids of organisations`;
};

/** The capabilities that only some organisations may use. */
export const dedicatedOf = (
  organisations: Iterable<readonly [capability: string, Organisations]>,
): NonNullable<ExecutorRegistered['dedicated']> =>
  Object.fromEntries(
    [...organisations].flatMap(([capability, ids]) => (ids === null ? [] : [[capability, [...ids]]])),
  );
