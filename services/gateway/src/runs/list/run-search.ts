import type { OrgId } from '@runledger/contracts/ids';
import type { CatalogueRecords } from '../../catalogue/store/catalogue-records.ts';
import { searchWord, type RunSearch } from '../../projection/core/search/run-search.ts';

/** What a request searches runs for; nothing without a text. @throws {LogUnavailable} */
export type ReadSearch = (
  org_id: OrgId,
  text: string | null | undefined,
) => Promise<{ readonly search?: RunSearch }>;

/** The newest of the deployments whose names have the text: a database compares each run with all of them. */
const MAX_DEPLOYMENTS = 500;

/** Runs do not know the names of their deployments, which may change: the catalogue has them. */
export const readSearch =
  ({ deployments }: Pick<CatalogueRecords, 'deployments'>): ReadSearch =>
  async (org_id, given) => {
    if (given === null || given === undefined) return {};
    const text = searchWord(given);
    const ids = await deployments.ids(org_id, ({ name }) => searchWord(name).includes(text));
    return { search: { text, deploymentIds: ids.slice(0, MAX_DEPLOYMENTS) } };
  };
