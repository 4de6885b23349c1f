import { MONGO_LIMITS, openMongoNextSet, openMongoViewStore } from './mongo/mongo-view-store.ts';
import type { BuiltSet, ViewStore } from './run-views.ts';
import { openSqliteViewStore, sqliteNextSet } from './sqlite/sqlite-view-store.ts';

/** Where the views are: settings of the gateway. */
export interface ViewSettings {
  readonly RUNLEDGER_VIEWS: 'mongodb' | 'sqlite';
  readonly RUNLEDGER_VIEWS_FILE: string;
  readonly MONGODB_URL: string;
}

export interface StoreOptions {
  /** `VIEW_VERSION`, but in tests. */
  readonly version: number;
  /** Monotonic, in milliseconds. */
  readonly clock: () => number;
}

/** The views that RUNLEDGER_VIEWS chooses. */
export const openViewStore = (settings: ViewSettings, options: StoreOptions): ViewStore => {
  switch (settings.RUNLEDGER_VIEWS) {
    case 'mongodb':
      return openMongoViewStore({ url: settings.MONGODB_URL, ...MONGO_LIMITS, ...options });
    case 'sqlite':
      return openSqliteViewStore({ path: settings.RUNLEDGER_VIEWS_FILE, ...options });
  }
};

/** The next set of them alone, for the thread that builds it. */
export const openNextSet = (settings: ViewSettings, options: StoreOptions): BuiltSet & AsyncDisposable => {
  switch (settings.RUNLEDGER_VIEWS) {
    case 'mongodb':
      return openMongoNextSet({ url: settings.MONGODB_URL, ...MONGO_LIMITS, ...options });
    case 'sqlite':
      return {
        ...sqliteNextSet({ path: settings.RUNLEDGER_VIEWS_FILE, ...options }),
        [Symbol.asyncDispose]: async () => undefined,
      };
  }
};
