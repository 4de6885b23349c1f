import type { RequestListener } from 'node:http';
import { generate } from 'selfsigned';
import { afterAll, describe, expect, it } from 'vitest';
import { certify, newAuthority, trustCertificates } from './certificates.ts';
import { httpReceiver, httpsReceiver, rawReceiver } from './receivers.ts';
import { send, sendOnce, senderTo } from './sending.ts';

const ok: RequestListener = (request, response) => void response.end(request.headers.host);
const valid = await certify({ names: ['receiver.example'], addresses: ['127.0.0.1', '::1'] });
const trust = await trustCertificates();
afterAll(() => trust[Symbol.dispose]());
const overTls = (url: URL): URL => new URL(url.href.replace('http:', 'https:'));

describe('an attempt over TLS', () => {
  it('sends the name of the host (SNI), and accepts its certificate', async () => {
    const asked: string[] = [];
    await using receiver = await httpsReceiver(ok, {
      ...valid,
      SNICallback: (name, give) => {
        asked.push(name);
        give(null);
      },
    });
    const answered = await sendOnce(receiver.url);
    expect(answered).toMatchObject({ reason: 'accepted', phases: { tls: expect.any(Number) } });
    expect(answered.answer).toBe(`receiver.example:${receiver.port}`);
    expect(asked).toEqual(['receiver.example']);
  });

  it('uses a connection again', async () => {
    await using receiver = await httpsReceiver(ok, valid);
    await using sender = senderTo(['127.0.0.1']);
    await send(sender, receiver.url);
    expect(await send(sender, receiver.url)).toMatchObject({
      reason: 'accepted',
      phases: { connect: null, tls: null },
    });
    expect(receiver.taken()).toBe(1);
  });

  it('accepts a certificate for the address in the URL', async () => {
    await using receiver = await httpsReceiver(ok, valid);
    const answered = await sendOnce(new URL(`https://127.0.0.1:${receiver.port}/`));
    expect(answered).toMatchObject({ reason: 'accepted' });
  });

  it('accepts TLS 1.2', async () => {
    await using receiver = await httpsReceiver(ok, { ...valid, maxVersion: 'TLSv1.2' });
    expect(await sendOnce(receiver.url)).toMatchObject({ reason: 'accepted' });
  });
});

describe('a certificate', () => {
  it('for another name is refused', async () => {
    await using receiver = await httpsReceiver(ok, await certify({ names: ['other.example'] }));
    expect(await sendOnce(receiver.url)).toMatchObject({
      reason: 'tls_failed',
      message: expect.stringContaining('other hosts'),
      phases: { tls: expect.any(Number), wait: null },
    });
  });

  it('for another address is refused', async () => {
    await using receiver = await httpsReceiver(ok, await certify({ addresses: ['127.0.0.9'] }));
    const url = new URL(`https://127.0.0.1:${receiver.port}/`);
    expect(await sendOnce(url)).toMatchObject({ reason: 'tls_failed' });
  });

  it('that has expired is refused', async () => {
    const expired = await certify({ names: ['receiver.example'], notAfter: new Date('2021-01-01') });
    await using receiver = await httpsReceiver(ok, expired);
    expect(await sendOnce(receiver.url)).toMatchObject({
      reason: 'tls_failed',
      message: expect.stringContaining('expired'),
    });
  });

  it('signed by itself is refused', async () => {
    const own = await generate([{ name: 'commonName', value: 'receiver.example' }], { algorithm: 'sha256' });
    await using receiver = await httpsReceiver(ok, { key: own.private, cert: own.cert });
    expect(await sendOnce(receiver.url)).toMatchObject({
      reason: 'tls_failed',
      message: expect.stringContaining('signed by itself'),
    });
  });

  it('of an unknown authority is refused', async () => {
    const foreign = await certify({ names: ['receiver.example'], authority: newAuthority() });
    await using receiver = await httpsReceiver(ok, foreign);
    expect(await sendOnce(receiver.url)).toMatchObject({ reason: 'tls_failed' });
  });
});

describe('a receiver with unusable TLS', () => {
  it('is refused when it offers only TLS 1.1', async () => {
    await using receiver = await httpsReceiver(ok, {
      ...valid,
      minVersion: 'TLSv1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT@SECLEVEL=0',
    });
    expect(await sendOnce(receiver.url)).toMatchObject({
      reason: 'tls_failed',
      message: expect.stringContaining('no TLS 1.2'),
    });
  });

  it('is refused when it requires a client certificate', async () => {
    await using receiver = await httpsReceiver(ok, { ...valid, requestCert: true, rejectUnauthorized: true });
    expect(await sendOnce(receiver.url)).toMatchObject({ reason: 'tls_failed' });
  });

  it('is refused when it speaks plain HTTP', async () => {
    await using receiver = await httpReceiver(ok);
    expect(await sendOnce(overTls(receiver.url))).toMatchObject({ reason: 'tls_failed' });
  });

  it('is refused when it closes during the handshake', async () => {
    await using receiver = await rawReceiver((socket) => void socket.once('data', () => socket.end()));
    expect(await sendOnce(overTls(receiver.url))).toMatchObject({ reason: 'tls_failed' });
  });

  it('has timed out when it never answers the handshake', async () => {
    await using receiver = await rawReceiver(() => undefined);
    expect(await sendOnce(overTls(receiver.url), { withinMs: 200 })).toMatchObject({ reason: 'timed_out' });
  });
});
