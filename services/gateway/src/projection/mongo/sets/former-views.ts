import type { RunsIdentity } from '@runledger/event-log/messages/stream-identity';
import type { Db } from 'mongodb';
import { hasMissed } from '../../core/projection-start.ts';
import type { FormerViews } from '../../run-views.ts';
import { orUnavailable } from '../mongo-errors.ts';
import type { MongoLimits } from '../mongo-run-views.ts';
import type { RunDocument } from '../run-documents.ts';
import { liveIdOf, nextIdOf, versionIn, type ViewPlaces } from './view-places.ts';
import { allViews } from '../views-with-files.ts';

/** Of several earlier versions, the latest. Gateways of that version may still serve, and keep it up. */
export const formerMongoViews = async (
  database: Db,
  { version: own, live, positions }: ViewPlaces,
  { writeWithinMs }: MongoLimits,
): Promise<FormerViews | undefined> => {
  if (await live.read()) return undefined;
  const others = (await positions.find().toArray()).flatMap(({ _id: id, collection }) => {
    const version = versionIn(id);
    return version === undefined || version > own ? [] : [{ version, collection }];
  });
  const latest = others.toSorted((a, b) => b.version - a.version)[0];
  if (!latest) return undefined;
  const { version, collection } = latest;
  const runs = database.collection<RunDocument>(collection);
  return {
    version,
    listAll: (query) =>
      orUnavailable(`reading the views of version ${version}`, writeWithinMs, () => allViews(runs, query)),
    [Symbol.asyncDispose]: async () => undefined,
  };
};

/**
 * Removes the positions of sets of earlier versions that lack facts which the log has lost. Nothing uses their collections then. Resolves
 * with their versions.
 */
export const forgetFormerViews = async (
  { version: own, live, positions }: ViewPlaces,
  log: Pick<RunsIdentity, 'created' | 'firstSequence'>,
): Promise<number[]> => {
  if (!(await live.read())) return [];
  const outdated = (await positions.find().toArray()).flatMap(({ _id: id, ...position }) => {
    const version = versionIn(id);
    return version !== undefined && version < own && hasMissed(position, log) ? [version] : [];
  });
  for (const version of outdated)
    await positions.deleteMany({ _id: { $in: [liveIdOf(version), nextIdOf(version)] } });
  return outdated;
};
