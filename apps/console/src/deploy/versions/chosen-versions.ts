/** The numbers of the version that is shown, and of the one that it is compared with, in the address of the page. */
export interface ChosenVersions {
  readonly version?: number;
  readonly compared?: number;
}

export const chosenVersionsIn = (query: Readonly<Record<string, unknown>>): ChosenVersions => {
  const number = (name: string): number | undefined => {
    const value = Number(query[name] ?? Number.NaN);
    return Number.isSafeInteger(value) && value >= 1 ? value : undefined;
  };
  const [version, compared] = [number('version'), number('compared')];
  return { ...(version !== undefined && { version }), ...(compared !== undefined && { compared }) };
};
