import type { Collection, Db } from 'mongodb';
import { storedPosition, type PositionDocument, type StoredPosition } from '../projection-position.ts';

/** Where the sets of views of one version are. */
export interface ViewPlaces {
  readonly version: number;
  readonly positions: Collection<PositionDocument>;
  readonly live: StoredPosition;
  readonly next: StoredPosition;
  /** Of the first set. Those that were built beside have its name with a number. */
  readonly firstCollection: string;
}

const LIVE_ID = /^v(\d+)$/;
const COLLECTION = /^run_views_v(\d+)(?:_\d+)?$/;

export const placesOf = (database: Db, version: number): ViewPlaces => {
  const positions = database.collection<PositionDocument>('projections');
  return {
    version,
    positions,
    live: storedPosition(positions, liveIdOf(version)),
    next: storedPosition(positions, nextIdOf(version)),
    firstCollection: `run_views_v${version}`,
  };
};

export const liveIdOf = (version: number): string => `v${version}`;
export const nextIdOf = (version: number): string => `v${version}.next`;

/** The version of a live set, by the id of its position. */
export const versionIn = (id: string): number | undefined => {
  const [, version] = LIVE_ID.exec(id) ?? [];
  return version === undefined ? undefined : Number(version);
};

/** The version of views that a collection has, by its name; undefined for other collections. */
export const versionOfCollection = (name: string): number | undefined => {
  const [, version] = COLLECTION.exec(name) ?? [];
  return version === undefined ? undefined : Number(version);
};
