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

/** The views that RUNLEDGER_VIEWS chooses. The driver of MongoDB, a fifth of what a gateway loads, is loaded for those of MongoDB only. */
export const openViewStore = async (settings: ViewSettings, options: StoreOptions): Promise<ViewStore> => {
  switch (settings.RUNLEDGER_VIEWS) {
    case 'mongodb': {
      const { MONGO_LIMITS, openMongoViewStore } = await import('./mongo/mongo-view-store.ts');
      return openMongoViewStore({ url: settings.MONGODB_URL, ...MONGO_LIMITS, ...options });
    }
    case 'sqlite':
      return openSqliteViewStore({ path: settings.RUNLEDGER_VIEWS_FILE, ...options });
  }
};

/** The next set of them alone, for the thread that builds it. */
export const openNextSet = async (
  settings: ViewSettings,
  options: StoreOptions,
): Promise<BuiltSet & AsyncDisposable> => {
  switch (settings.RUNLEDGER_VIEWS) {
    case 'mongodb': {
      const { MONGO_LIMITS, openMongoNextSet } = await import('./mongo/mongo-view-store.ts');
      return openMongoNextSet({ url: settings.MONGODB_URL, ...MONGO_LIMITS, ...options });
    }
    case 'sqlite':
      return {
        ...sqliteNextSet({ path: settings.RUNLEDGER_VIEWS_FILE, ...options }),
        [Symbol.asyncDispose]: async () => undefined,
      };
  }
};
