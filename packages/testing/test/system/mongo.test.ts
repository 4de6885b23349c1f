import { readFile } from 'node:fs/promises';
import { MongoClient } from 'mongodb';
import { describe, expect, it } from 'vitest';
import { describeWithMongo, privateMongo, testMongo } from '../../src/servers/mongo.ts';
import { MONGO_IMAGE } from '../../src/servers/shared-mongo.ts';

describeWithMongo("a test's database", () => {
  it('is separate on the shared server, and is dropped on dispose', async () => {
    const one = await testMongo();
    await using two = await testMongo();
    await using client = new MongoClient(one.url);
    await client.db(one.database).collection('runs').insertOne({ status: 'queued' });
    expect(await client.db(two.database).collection('runs').countDocuments()).toBe(0);

    await one[Symbol.asyncDispose]();
    expect(await client.db(one.database).collection('runs').countDocuments()).toBe(0);
  });
});

describeWithMongo("a test's own MongoDB server", () => {
  it('keeps writes acknowledged with j: true over a kill -9 and a restart on the same port', async (context) => {
    const mongo = await privateMongo();
    if (mongo.kind === 'unavailable') return context.skip(mongo.reason);
    await using server = mongo;
    await using client = new MongoClient(server.url, { serverSelectionTimeoutMS: 20_000 });
    const runs = client.db('journey').collection('runs', { writeConcern: { w: 'majority', j: true } });
    await runs.insertOne({ status: 'queued' });

    await server.kill9();
    await server.restart();

    expect(await runs.countDocuments({ status: 'queued' })).toBe(1);
  });
});

describe('the pinned MongoDB image', () => {
  it('is that of docker-compose.yml', async () => {
    const compose = await readFile(new URL('../../../../docker-compose.yml', import.meta.url), 'utf8');
    expect(compose).toContain(`image: ${MONGO_IMAGE}\n`);
  });
});
