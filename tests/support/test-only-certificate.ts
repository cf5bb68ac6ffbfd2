/**
 * A self-signed certificate for `localhost` and its key, valid from 2020 to 2119. It is public, made for the tests alone and
 * trusted only by tests that set it. It is committed, so that no machine needs openssl.
 */
export const testOnlyKey = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQguOdDimUQESSKdNCm
DW1ZdiJyhfBf28cuml9vyFEgwq6hRANCAAQPCXOPZMQmGyGnaKoOMAa3qMSKw9zQ
vqK3ChJ+053K4+NjLhWgHa5Z5zw/4YgUzM6Cft9GzkSK3UsrtHQ2k848
-----END PRIVATE KEY-----
`;

export const testOnlyCertificate = `-----BEGIN CERTIFICATE-----
MIIBczCCARqgAwIBAgIBATAKBggqhkjOPQQDAjAtMSswKQYDVQQDDCJpbmJveGQg
dGVzdHMgb25seSwgdHJ1c3RlZCBub3doZXJlMCAXDTIwMDEwMTAwMDAwMFoYDzIx
MTkwMTAxMDAwMDAwWjAtMSswKQYDVQQDDCJpbmJveGQgdGVzdHMgb25seSwgdHJ1
c3RlZCBub3doZXJlMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEDwlzj2TEJhsh
p2iqDjAGt6jEisPc0L6itwoSftOdyuPjYy4VoB2uWec8P+GIFMzOgn7fRs5Eit1L
K7R0NpPOPKMpMCcwFAYDVR0RBA0wC4IJbG9jYWxob3N0MA8GA1UdEwEB/wQFMAMB
Af8wCgYIKoZIzj0EAwIDRwAwRAIgAtiinjEgPl4WhDuWkA0yhVlexHYw+rpS0b1L
Z/KksRYCIFt3tA6NIxDBeE7tfZlJVpvW+tCX2Ddogxk3+M384meR
-----END CERTIFICATE-----
`;
