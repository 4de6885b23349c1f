import { describe, expect, it } from 'vitest';
import { deliveryFilterIn } from '../src/webhooks/delivery-filter.ts';

describe('the filter of deliveries in an address', () => {
  it('has a state and a host', () => {
    expect(deliveryFilterIn({ status: 'failed', host: ' hooks.example.com:8443 ' })).toEqual({
      status: 'failed',
      host: 'hooks.example.com:8443',
    });
  });

  it('is without what the API would refuse', () => {
    expect(deliveryFilterIn({ status: 'toString', host: ' ', other: 'x' })).toEqual({});
    expect(deliveryFilterIn({ status: ['failed'], host: 5 })).toEqual({});
  });
});
