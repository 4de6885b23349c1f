import type { OrgId } from '@runledger/contracts/ids';
import { FILES, UPLOADS, type FileRecords } from './file-records.ts';

/** What an organisation has: records, and bytes of files and unfinished uploads. @throws {LogUnavailable} */
export const sumFiles = async (
  { files, uploads }: FileRecords,
  org_id: OrgId,
): Promise<{ readonly files: number; readonly bytes: number }> => {
  const [stored, begun] = await Promise.all([
    files.list(`${FILES}.${org_id}`),
    uploads.list(`${UPLOADS}.${org_id}`),
  ]);
  const unfinished = begun.filter(({ value }) => value.file_id === null);
  const bytes = [...stored, ...unfinished].reduce((sum, { value }) => sum + value.bytes, 0);
  return { files: stored.length + begun.length, bytes };
};
