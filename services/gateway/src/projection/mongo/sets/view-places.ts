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

export const placesOf = (database: Db, version: number): ViewPlaces => {
  const positions = database.collection<PositionDocument>('projections');
  return {
    version,
    positions,
    live: storedPosition(positions, `v${version}`),
    next: storedPosition(positions, `v${version}.next`),
    firstCollection: `run_views_v${version}`,
  };
};

/** The version of a live set, by the id of its position. */
export const versionIn = (id: string): number | undefined => {
  const [, version] = LIVE_ID.exec(id) ?? [];
  return version === undefined ? undefined : Number(version);
};
