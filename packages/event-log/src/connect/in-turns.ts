/** Work under one name is done one after the other, whatever becomes of it. */
export const inTurns = (): (<Answer>(name: string, work: () => Promise<Answer>) => Promise<Answer>) => {
  const last = new Map<string, Promise<unknown>>();
  return async (name, work) => {
    const turn = (last.get(name) ?? Promise.resolve()).then(work, work);
    last.set(name, turn);
    try {
      return await turn;
    } finally {
      if (last.get(name) === turn) last.delete(name);
    }
  };
};
