/** That something has changed, for a reader that looks at everything when it has. */
export interface News {
  readonly isThere: () => boolean;
  readonly tell: () => void;
  /** The reader looks now: only what changes from now on is news. */
  readonly take: () => void;
  /** Resolves when it is told, also if that was before. */
  readonly told: () => Promise<void>;
}

export const openNews = (): News => {
  let isThere = true;
  let bell = Promise.withResolvers<void>();
  return {
    isThere: () => isThere,
    tell: () => {
      isThere = true;
      bell.resolve();
    },
    take: () => {
      isThere = false;
    },
    told: async () => {
      await bell.promise;
      bell = Promise.withResolvers();
    },
  };
};
