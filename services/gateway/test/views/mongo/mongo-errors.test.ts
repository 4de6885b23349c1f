import { MongoBulkWriteError, MongoNetworkError, type BulkWriteResult } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { refusedAsDuplicates } from '../../../src/views/mongo/mongo-server.ts';

/** The part of a result that is looked at. */
const result = { getWriteConcernError: () => undefined } as unknown as BulkWriteResult;
const refused = (...codes: readonly number[]) => {
  const writeErrors = codes.map((code, place) => ({ code, index: place * 10 }));
  return new MongoBulkWriteError({ message: 'refused', code: codes[0] ?? 0, writeErrors } as never, result);
};
const writing = (error: Error) =>
  refusedAsDuplicates(async () => {
    throw error;
  });

describe('a write of many views', () => {
  it('says which were refused because there is such a document already', async () => {
    await expect(writing(refused(11000, 11000))).resolves.toEqual([0, 10]);
    await expect(refusedAsDuplicates(async () => undefined)).resolves.toEqual([]);
  });

  it('fails when the server refused one view for another reason', async () => {
    await expect(writing(refused(11000, 17))).rejects.toThrow('refused');
  });

  it('fails when the connection was lost', async () => {
    const lost = new MongoBulkWriteError(new MongoNetworkError('connection closed'), result);
    expect(lost.writeErrors).toEqual([]);
    await expect(writing(lost)).rejects.toThrow('connection closed');
  });
});
